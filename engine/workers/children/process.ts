/**
 * One child process that speaks lines on its standard streams, in a process group of its own, and its end. The order of
 * an end is MCP's (2025-11-25, lifecycle, shutdown): its input ends, SIGTERM, SIGKILL, each for the whole group.
 *
 * No process outlives the gateway, however that ends: Node cannot ask for a signal at its parent's death, so the shell
 * that starts the program first leaves a watchdog in the group. It reads a pipe that only the gateway holds
 * open; when that ends, the group gets the same time to leave, then SIGTERM, then SIGKILL.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { resolve } from 'node:path'
import type { Duplex, Readable, Writable } from 'node:stream'
import type { ChannelEvents, ChildChannel, ChildSpec } from '#engine/contract/children.ts'
import { environmentOf, findCommand } from './command.ts'
import { LineSplitter } from './lines.ts'

/** Between the steps of an end. */
export const GRACE_MS = 2_000
/** After the program itself has ended, for what it has written to come through. */
const FLUSH_MS = 500
/** A line that is too long may go on for so many times its bound until the process is given up. */
const SKIP_FACTOR = 4
const STDERR_LINE_BYTES = 2048

/**
 * Descriptor 3 is the gateway's pipe. `exec` keeps the number of the process: the program is the child that Node knows,
 * with its exit code, and leader of the group. `kill ... 0` is for the group of the shell itself.
 */
const SHELL = '/bin/sh'
const SCRIPT = `(trap '' TERM INT HUP QUIT; read -r line <&3; sleep ${GRACE_MS / 1000}; kill -s TERM 0; sleep ${
  GRACE_MS / 1000
}; kill -s KILL 0) </dev/null >/dev/null 2>&1 & exec "$@" 3<&-`

export class LineProcess implements ChildChannel {
  readonly #child: ChildProcess
  readonly #events: ChannelEvents
  readonly #graceMs: number
  #timer: NodeJS.Timeout | null = null
  #isEnding = false
  #isOver = false
  readonly #gone = Promise.withResolvers<void>()

  /** Throws an Error that says why it cannot be started. */
  constructor(spec: ChildSpec, events: ChannelEvents, graceMs = GRACE_MS) {
    if (process.platform === 'win32') throw new Error('servers on standard streams need a POSIX system')
    const env = environmentOf(spec)
    const path = findCommand(spec, env)
    this.#events = events
    this.#graceMs = graceMs
    const child = spawn(SHELL, ['-c', SCRIPT, 'weir-child', path, ...spec.args], {
      env,
      cwd: resolve(spec.cwd ?? '.'),
      detached: true,
      stdio: ['pipe', 'pipe', 'pipe', 'pipe']
    })
    this.#child = child
    child.on('error', (error) => this.#finish(`it cannot be started (${(error as NodeJS.ErrnoException).code})`))
    child.on('exit', (code, signal) => this.#exited(signal === null ? `with code ${code}` : `by ${signal}`))
    // Writing to a process that is gone fails: 'exit' reports its end.
    for (const stream of child.stdio) stream?.on('error', () => undefined)
    const splitter: LineSplitter = new LineSplitter(spec.lineBytesMax, events.line, events.tooLong)
    this.#stdout.on('data', (chunk: Buffer) => {
      if (this.#isOver) return
      splitter.push(chunk)
      if (splitter.skippedBytes > spec.lineBytesMax * SKIP_FACTOR) this.kill()
    })
    this.#readStderr()
    this.#stdin.on('drain', events.drained)
  }

  get #stdin(): Writable {
    return this.#child.stdin!
  }

  get #stdout(): Readable {
    return this.#child.stdout!
  }

  get pid(): number {
    return this.#child.pid ?? 0
  }

  /** Bytes that it has not taken. */
  get queuedBytes(): number {
    return this.#stdin.writableLength
  }

  /** Resolves when nothing of it is left. */
  get gone(): Promise<void> {
    return this.#gone.promise
  }

  write(line: string): void {
    if (!this.#isEnding && !this.#isOver) this.#stdin.write(`${line}\n`)
  }

  pause(): void {
    this.#stdout.pause()
  }

  resume(): void {
    this.#stdout.resume()
  }

  /** Its input ends, and step by step what does not leave. */
  end(): void {
    if (this.#isEnding || this.#isOver) return
    this.#isEnding = true
    this.#stdin.end()
    // What it still says is read and thrown away: a full pipe would keep it from leaving.
    this.#stdout.resume()
    this.#timer = setTimeout(() => {
      this.#signal('SIGTERM')
      this.#timer = setTimeout(() => this.#signal('SIGKILL'), this.#graceMs)
    }, this.#graceMs)
  }

  /** At once. */
  kill(): void {
    this.#isEnding = true
    this.#signal('SIGKILL')
  }

  #readStderr(): void {
    const stderr = this.#child.stderr!
    // The log names a line that is too long by its first bytes.
    let line = ''
    stderr.setEncoding('utf8').on('data', (chunk: string) => {
      const lines = (line + chunk).split('\n')
      line = lines.pop()!.slice(0, STDERR_LINE_BYTES)
      for (const text of lines) if (text.trim() !== '') this.#events.log(text.slice(0, STDERR_LINE_BYTES).trimEnd())
    })
    stderr.on('end', () => {
      if (line.trim() !== '') this.#events.log(line.trimEnd())
    })
  }

  #signal(name: NodeJS.Signals): void {
    const { pid } = this.#child
    if (pid === undefined || this.#isOver) return
    try {
      process.kill(-pid, name)
    } catch (error) {
      // ESRCH: nothing of the group is left. Another user's (set-user-id programs) cannot be ended by this one.
      const { code } = error as NodeJS.ErrnoException
      if (code !== 'ESRCH') this.#events.log(`its process group ${pid} cannot be ended (${code})`)
    }
  }

  /** The program has ended: what it has started, and the watchdog, end with it. */
  #exited(how: string): void {
    this.#signal('SIGKILL')
    if (this.#timer !== null) clearTimeout(this.#timer)
    const finish = () => this.#finish(`it ended ${how}`)
    // A process that has left the group may hold the streams open.
    this.#timer = setTimeout(finish, FLUSH_MS)
    this.#child.once('close', finish)
  }

  #finish(why: string): void {
    if (this.#isOver) return
    this.#isOver = true
    if (this.#timer !== null) clearTimeout(this.#timer)
    for (const stream of this.#child.stdio) (stream as Duplex | null)?.destroy()
    this.#events.ended(why)
    this.#gone.resolve()
  }
}
