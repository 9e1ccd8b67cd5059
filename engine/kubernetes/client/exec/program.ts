/** Runs a program that makes credentials, once, and gives what it prints. */
import { spawn } from 'node:child_process'
import { isSensitive, REDACTED, redactText, withoutKeys } from '#engine/kit/sensitive.ts'

/** Logins in a cloud take seconds. client-go waits for ever, and so does everything that it is asked for. */
const RUN_MS_MAX = 60_000
/** A person is asked for something. */
const INTERACTIVE_MS_MAX = 300_000
/** A token with a chain of certificates has some 10 KB. */
const OUTPUT_BYTES_MAX = 1024 * 1024
/** Of what it says in its end: the last words say why. */
const STDERR_CHARS_MAX = 1024
/** Shorter values are words, and hide too much. */
const SECRET_CHARS_MIN = 6

export interface ProgramSpec {
  /** A path, or a name that is looked up in PATH. */
  readonly command: string
  readonly args: readonly string[]
  /** All of its environment. */
  readonly env: Readonly<Record<string, string | undefined>>
  /** It has the terminal of this process. */
  readonly isInteractive: boolean
  /** Where it is to be had: said when it is not there. */
  readonly installHint: string
  /** Calls back once after `ms`; gives how to call that off. */
  readonly after: (ms: number, call: () => void) => () => void
}

/** Rejects with an Error that says why there is none, with what it wrote to its standard error, without secrets. */
export function outputOf(spec: ProgramSpec): Promise<string> {
  const { command, args, env, isInteractive, after } = spec
  const msMax = isInteractive ? INTERACTIVE_MS_MAX : RUN_MS_MAX
  return new Promise((resolve, reject) => {
    // A group of its own can be ended with all that it has started; only the group of the terminal may read from it.
    const stdio = isInteractive ? (['inherit', 'pipe', 'inherit'] as const) : (['ignore', 'pipe', 'pipe'] as const)
    const child = spawn(command, args, { env, stdio: [...stdio], detached: !isInteractive })
    const output: Buffer[] = []
    let bytes = 0
    let stderr = ''
    const kill = () => {
      if (child.pid !== undefined) endOf(isInteractive ? child.pid : -child.pid)
    }
    const finish = (outcome: string | Error) => {
      callOff()
      process.off('exit', kill)
      child.stdout?.destroy()
      child.stderr?.destroy()
      if (typeof outcome === 'string') resolve(outcome)
      else reject(outcome)
    }
    const fail = (why: string) => {
      kill()
      finish(new Error(`${command}: ${why}${wordsOf(stderr, spec)}`))
    }
    const callOff = after(msMax, () => fail(`it has not ended after ${msMax / 1000} s`))
    process.once('exit', kill)
    child.stdout?.on('data', (piece: Buffer) => {
      output.push(piece)
      bytes += piece.length
      if (bytes > OUTPUT_BYTES_MAX) fail(`its answer is longer than ${OUTPUT_BYTES_MAX} bytes`)
    })
    child.stderr?.setEncoding('utf8').on('data', (piece: string) => {
      stderr = (stderr + piece).slice(-4 * STDERR_CHARS_MAX)
    })
    child.on('error', (error: NodeJS.ErrnoException) => fail(startFault(error, spec.installHint)))
    // All that it has written is there.
    child.on('close', (code, signal) => {
      if (code === 0) finish(Buffer.concat(output).toString())
      else fail(signal === null ? `it has ended with code ${code}` : `it was ended by ${signal}`)
    })
  })
}

function startFault({ code = '' }: NodeJS.ErrnoException, installHint: string): string {
  if (code !== 'ENOENT') return `it cannot be started (${code})`
  return `it was not found${installHint === '' ? '; install it, or name its whole path' : `\n${installHint}`}`
}

/** `pid`: negative for a group. */
function endOf(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended by itself.
  }
}

function wordsOf(stderr: string, { args, env }: ProgramSpec): string {
  let text = stderr
  for (const value of secretsOf(args, env)) text = text.replaceAll(value, REDACTED)
  const words = withoutKeys(redactText(text))
    .replace(/[^ -~]+/g, ' ')
    .trim()
  return words === '' ? '' : `: ${words.slice(-STDERR_CHARS_MAX)}`
}

/** Values that it was told, by their names: "--client-secret=VALUE", "--token VALUE", API_KEY=VALUE. */
function secretsOf(args: ProgramSpec['args'], env: ProgramSpec['env']): readonly string[] {
  const named = args.map((arg, i): readonly [string, string | undefined] => {
    const at = arg.indexOf('=')
    return at < 0 ? [args[i - 1] ?? '', arg] : [arg.slice(0, at), arg.slice(at + 1)]
  })
  const values = [...named, ...Object.entries(env)].flatMap(([name, value = '']) =>
    isSensitive(name) && value.length >= SECRET_CHARS_MIN ? [value] : []
  )
  // One may be the beginning of another one.
  return values.toSorted((a, b) => b.length - a.length)
}
