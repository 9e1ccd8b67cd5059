/** The MCP servers of the demonstration: `weir mcp-server NAME`. */
import type { Readable, Writable } from 'node:stream'
import { clock } from './clock.ts'
import { notebook } from './notebook.ts'
import { serve } from './server.ts'

const SERVERS: ReadonlyMap<string, typeof clock> = new Map([
  ['clock', clock],
  ['notebook', notebook]
])

/** Resolves when `input` has ended; false: there is no such server. */
export async function serveMcp(name: string, version: string, input: Readable, output: Writable): Promise<boolean> {
  const parts = SERVERS.get(name)
  if (parts === undefined) return false
  await serve(parts(version), input, output)
  return true
}
