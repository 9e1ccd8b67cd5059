/** The real program as a child process, for tests of its whole life. */

import { type ChildProcess, spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { join } from 'node:path'

/** The bundle that `npm test` has made of these sources: it starts in a seventh of the time. Else the sources. */
const MAIN = process.env.WEIR_TEST_PROGRAM ?? join(import.meta.dirname, '..', 'process', 'start.ts')

export class RunningProgram {
  output = ''
  readonly child: ChildProcess
  #waiting: { found: () => boolean; resolve: () => void; reject: (error: Error) => void }[] = []
  readonly #exit: Promise<number | null>

  constructor(child: ChildProcess) {
    this.child = child
    const take = (chunk: Buffer) => {
      this.output += chunk.toString()
      this.#check(false)
    }
    child.stdout?.on('data', take)
    child.stderr?.on('data', take)
    this.#exit = once(child, 'close').then(([code]) => {
      this.#check(true)
      return code as number | null
    })
  }

  /** Resolves when `text` has been printed `times` times; rejects when the program ends before. */
  logged(text: string | RegExp, times = 1): Promise<void> {
    const found = () => this.output.split(text).length > times
    if (found()) return Promise.resolve()
    return new Promise((resolve, reject) => this.#waiting.push({ found, resolve, reject }))
  }

  signal(name: NodeJS.Signals): void {
    this.child.kill(name)
  }

  /** Resolves with the exit code. */
  exited(): Promise<number | null> {
    return this.#exit
  }

  /** Ends it if it still runs. */
  async stop(): Promise<void> {
    if (this.child.exitCode === null && this.child.signalCode === null) this.child.kill('SIGKILL')
    await this.#exit
  }

  #check(hasEnded: boolean): void {
    for (const waiter of this.#waiting) {
      if (waiter.found()) waiter.resolve()
      else if (hasEnded) waiter.reject(new Error(`the program ended; it said:\n${this.output}`))
    }
    this.#waiting = this.#waiting.filter((waiter) => !waiter.found())
  }
}

/** Runs weir with `args`; `input` goes to its standard input. */
export function runProgram(args: readonly string[], input = '', env: NodeJS.ProcessEnv = {}): RunningProgram {
  return runNode(['--disable-warning=ExperimentalWarning', MAIN, ...args], input, env)
}

/** Runs this Node with `args`: another way to start weir than its main file. */
export function runNode(args: readonly string[], input = '', env: NodeJS.ProcessEnv = {}): RunningProgram {
  return runCommand(process.execPath, args, input, env)
}

/** Runs another program with `args`. */
export function runCommand(
  command: string,
  args: readonly string[],
  input = '',
  env: NodeJS.ProcessEnv = {}
): RunningProgram {
  const child = spawn(command, args, {
    env: { ...process.env, ...env },
    stdio: ['pipe', 'pipe', 'pipe']
  })
  child.stdin?.end(input)
  return new RunningProgram(child)
}

/** Below the ports that kernels assign: tests beside this one do so all the time. */
const [FREE_FROM, FREE_TO] = [16_384, 32_768]

/** A port that was free a moment ago: the program needs a number in its file. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(FREE_FROM, FREE_TO)
    const server = createServer().listen(port)
    const isFree = await once(server, 'listening').then(
      () => true,
      () => false
    )
    if (!isFree) continue
    server.close()
    await once(server, 'close')
    return port
  }
}
