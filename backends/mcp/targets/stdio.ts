/** MCP servers that are child processes (MCP, stdio transport). */

import type { McpStdioTarget } from '#backends/mcp/config/snapshot.ts'
import type { TargetKind } from './kind.ts'
import { LineTarget } from './line-target.ts'
export const stdioKind: TargetKind<McpStdioTarget> = {
  kind: 'stdio',
  traits: { keepsLink: true, sessions: 'always', era: null, isProcess: true },
  child: (target) => ({ ...target, target: target.name }),
  compile({ name, cmd, args, env, cwd }, { messageBytesMax, session }, { name: backend, children }) {
    const { idleMs } = session
    const spec = { backend, target: name, cmd, args, env, cwd, lineBytesMax: messageBytesMax, idleMs }
    return new LineTarget(spec, children, stdioKind.traits)
  }
}
