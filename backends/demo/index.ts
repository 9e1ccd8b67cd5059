/** The built-in demonstration: a gateway without keys, servers or network (registered by engine/process/main.ts). */
import { demoConfig } from './config.ts'
import { startDemoServer } from './server.ts'

/**
 * Starts the server that is its backend; resolves with the configuration. `port`: where Weir listens. `program`: the
 * module that runs weir, for its MCP servers.
 */
export async function startDemo(port: string, program: URL): Promise<string> {
  const { port: backendPort } = await startDemoServer()
  return demoConfig(port, backendPort, program)
}
