/** What child processes say on stderr, for the gateway's log: so many lines in so much time, and no secrets of ours. */
import type { ChildSpec } from '#engine/contract/children.ts'
import { LineBudget } from '#engine/kit/line-budget.ts'
import { isSensitive, looksLikeKey } from '#engine/kit/sensitive.ts'

const LINES_PER_WINDOW = 50
const WINDOW_MS = 10_000
/** Shorter values of the environment are words that stand everywhere ("1", "true"). */
const SECRET_CHARS_MIN = 6

export type ChildLog = (level: 'info' | 'warn', text: string) => void

/** `log` gets lines with the target's name in front. One per target: its processes share the bound. */
export function childLog(spec: ChildSpec, log: (level: 'info' | 'warn' | 'error', message: string) => void): ChildLog {
  const secrets = [...Object.values(spec.env), ...secretArguments(spec.args)]
    .filter((value) => value.length >= SECRET_CHARS_MIN)
    // Of two that overlap the longer one: nothing of it may be left.
    .sort((a, b) => b.length - a.length)
  const budget = new LineBudget(LINES_PER_WINDOW, WINDOW_MS, (leftOut) =>
    log('warn', `${spec.target}: ${leftOut} more lines were left out`)
  )
  return (level, text) => {
    if (!budget.take(performance.now())) return
    let shown = text
    for (const secret of secrets) shown = shown.replaceAll(secret, '<redacted>')
    log(level, `${spec.target}: ${shown}`)
  }
}

/** Programs say what they were started with: `--token VALUE`, `--token=VALUE`, and what is a key by its look. */
function secretArguments(args: readonly string[]): string[] {
  return args.flatMap((arg, i) => {
    const [, flag = '', value = arg] = /^(-[^=]*)=(.*)$/s.exec(arg) ?? []
    const name = flag === '' && i > 0 && args[i - 1]!.startsWith('-') ? args[i - 1]! : flag
    return isSensitive(name) || looksLikeKey(value) ? [value] : []
  })
}
