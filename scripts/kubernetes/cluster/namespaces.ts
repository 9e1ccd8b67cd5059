/** The program again, in Linux namespaces of its own: what it starts ends with it, and nobody else sees its network. */
import { spawn } from 'node:child_process'
import { constants } from 'node:os'

const MARK = 'WEIR_CONFORMANCE_INSIDE'

export const isInside = process.env[MARK] !== undefined

/** Needs root and util-linux. Resolves with the exit code. */
export async function runInside(): Promise<number> {
  if (process.getuid?.() !== 0) throw new Error('a cluster of its own needs network namespaces: run it as root')
  const namespaces = ['--net', '--mount', '--pid', '--fork', '--kill-child', '--mount-proc']
  const program = [process.execPath, ...process.execArgv, ...process.argv.slice(1)]
  // The kernel ends it when this process ends, however it does.
  const child = spawn('setpriv', ['--pdeathsig', 'KILL', 'unshare', ...namespaces, ...program], {
    env: { ...process.env, [MARK]: '1' },
    stdio: 'inherit'
  })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => child.kill('SIGKILL'))
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code, signal) => resolve(signal === null ? (code ?? 1) : 128 + constants.signals[signal]))
  })
}
