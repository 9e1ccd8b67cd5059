/** A server of the stateless era alone, as a child process; made with the official SDK. */
import { inputRequired, McpServer } from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'

const FORM = { type: 'object' as const, properties: { name: { type: 'string' as const } }, required: ['name'] }

serveStdio(
  () => {
    const server = new McpServer({ name: 'child', version: '1' }, { capabilities: { tools: {} } })
    server.registerTool('greet', {}, (ctx) => {
      const response = ctx.mcpReq.inputResponses?.name as { content?: { name?: string } } | undefined
      const name = inputRequired.elicit({ message: 'Your name?', requestedSchema: FORM })
      if (response === undefined) return inputRequired({ inputRequests: { name } })
      return { content: [{ type: 'text', text: `hello ${response.content?.name}` }] }
    })
    return server
  },
  { legacy: 'reject' }
)
