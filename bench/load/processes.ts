/** Starts programs, and makes sure that none outlives the bench. Programs are ended by process id only. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { setTimeout as after } from 'node:timers/promises'
import { processTree } from './cpu.ts'

/** How long a program may take to end on SIGTERM before it is killed. */
const STOP_MS_MAX = 3_000
/** How much of a program's error output is kept for the message when it fails. */
const STDERR_CHARS_MAX = 4_000

export interface Command {
  readonly program: string
  readonly args: readonly string[]
  /** Where its stdout goes; absent: here, for firstLine. */
  readonly stdoutFile?: string
}

export interface Running {
  readonly pid: number
  /** False once the program has ended. */
  alive(): boolean
  /** The end of what it wrote to stderr. */
  stderr(): string
  /** The first line that it writes to stdout. Rejects when it ends without one. */
  firstLine(): Promise<string>
  /** Ends it and waits until it is gone. */
  stop(): Promise<void>
}

const running = new Set<ChildProcess>()

/** Starts `command`, pinned to `cores` (a taskset list; null: not pinned). Throws when it cannot be started. */
export async function start(command: Command, cores: string | null): Promise<Running> {
  const child = launch(command, cores)
  const errors = collect(child)
  await once(child, 'spawn')
  let output = ''
  // Read on behind the first line too: a full pipe would stop the program one day.
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    if (!output.includes('\n')) output += text
  })
  return {
    pid: child.pid!,
    alive: () => isAlive(child),
    stderr: () => errors.text,
    async firstLine() {
      while (!output.includes('\n')) {
        if (!isAlive(child)) throw new Error(`${command.program} ended without a word\n${errors.text}`)
        await Promise.race([once(child.stdout!, 'data'), once(child, 'close')])
      }
      return output.slice(0, output.indexOf('\n'))
    },
    stop: () => stop(child)
  }
}

function launch({ program, args, stdoutFile }: Command, cores: string | null): ChildProcess {
  // taskset replaces itself by the program: the process id is the program's own.
  const [file, list] = cores === null ? [program, args] : ['taskset', ['-c', cores, program, ...args]]
  const output = stdoutFile === undefined ? null : openSync(stdoutFile, 'w')
  const child = spawn(file, list, { stdio: ['ignore', output ?? 'pipe', 'pipe'] })
  if (output !== null) closeSync(output)
  watchOver(child)
  return child
}

function collect(child: ChildProcess): { text: string } {
  const errors = { text: '' }
  child.stderr!.setEncoding('utf8').on('data', (text: string) => {
    errors.text = (errors.text + text).slice(-STDERR_CHARS_MAX)
  })
  return errors
}

function isAlive(child: ChildProcess): boolean {
  return child.exitCode === null && child.signalCode === null
}

async function stop(child: ChildProcess): Promise<void> {
  if (!isAlive(child)) return
  const tree = processTree(child.pid!)
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  const cancel = new AbortController()
  const late = after(STOP_MS_MAX, 'late' as const, { signal: cancel.signal }).catch(() => null)
  const first = await Promise.race([ended, late])
  cancel.abort()
  if (first !== 'late') return
  for (const pid of tree) kill(pid, 'SIGKILL')
  await ended
}

function watchOver(child: ChildProcess): void {
  if (running.size === 0) process.on('exit', killAll)
  running.add(child)
  const forget = () => {
    running.delete(child)
    if (running.size === 0) process.off('exit', killAll)
  }
  child.on('exit', forget)
  child.on('error', forget)
}

/** Runs while the bench exits, for whatever reason: nothing can be awaited any more. */
function killAll(): void {
  for (const child of running) {
    if (child.pid === undefined) continue
    for (const pid of processTree(child.pid)) kill(pid, 'SIGKILL')
  }
}

function kill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch (error) {
    // It ended by itself meanwhile.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}
