/** The server of notes.ts on standard streams. */
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { notes } from './notes.ts'

await notes().connect(new StdioServerTransport())
