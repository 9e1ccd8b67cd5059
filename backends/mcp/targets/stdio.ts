/** MCP servers that are child processes (MCP, stdio transport). */

import type { McpTarget } from '#backends/mcp/config/snapshot.ts'
import { list, longString, misplacedKeys, refusedKeys, shortString, z } from '#engine/schema/schema.ts'
import type { TargetKey, TargetKind } from './kind.ts'
import { LineTarget } from './line-target.ts'

export interface McpStdioTarget extends McpTarget {
  readonly kind: 'stdio'
  readonly cmd: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  /** Null: that of the gateway. */
  readonly cwd: string | null
}

const ARGS_MAX = 256
const ENV_MAX = 256
const VALUE_CHARS_MAX = 32_768

const NUL = 'cannot have a NUL character'
const hasNoNul = (text: string) => !text.includes('\0')
/** A path may have spaces; a name that is looked up has arguments behind them. */
const ALONE = 'must be the program alone: what stands behind it goes into args'
const isAlone = (text: string) => !/^[^/\\\s]+\s/.test(text)
const word = () => z.string().max(VALUE_CHARS_MAX).refine(hasNoNul, NUL)

const schema = () =>
  z.strictObject({
    cmd: longString().refine(hasNoNul, NUL).refine(isAlone, ALONE).describe('Program; found as a shell finds it.'),
    args: list(word(), 0, ARGS_MAX).optional(),
    env: z
      .record(shortString().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'must be the name of a variable'), word())
      .refine((map) => Object.keys(map).length <= ENV_MAX, `must have at most ${ENV_MAX} entries`)
      .optional()
      .describe('Variables beside those that every child gets.'),
    cwd: longString().refine(hasNoNul, NUL).optional().describe('Folder where it runs. Default: that of the gateway.'),
    ...misplacedKeys('is called cmd here', ['command']),
    ...refusedKeys('setting of stdio', ['clearEnv'])
  })

const stdioKey: TargetKey<McpStdioTarget> = {
  name: 'stdio',
  schema: () => schema().optional().describe('A program that speaks MCP over its standard streams.'),
  noConnection: 'means nothing to a program: give it env or args',
  translate(value: z.output<ReturnType<typeof schema>>, common) {
    const { cmd, args = [], env = {}, cwd = null } = value
    return { ...common, kind: 'stdio', cmd, args, env, cwd }
  }
}

export const stdioKind: TargetKind<McpStdioTarget> = {
  kind: 'stdio',
  key: stdioKey,
  traits: { keepsLink: true, sessions: 'always', era: null, isProcess: true },
  child: (target) => ({ ...target, target: target.name }),
  compile({ name, cmd, args, env, cwd }, { messageBytesMax, session }, { name: backend, children }) {
    const { idleMs } = session
    const spec = { backend, target: name, cmd, args, env, cwd, lineBytesMax: messageBytesMax, idleMs }
    return new LineTarget(spec, children, stdioKind.traits)
  }
}
