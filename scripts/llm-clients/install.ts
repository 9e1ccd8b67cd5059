/** The real clients in fixed versions, installed once into a cache outside of the repository. */
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'

const HERE = import.meta.dirname
const INSTALL_MS_MAX = 900_000

export interface Installed {
  /** The interpreter that has Python's clients. */
  readonly python: string
  /** The folder that has npm's. */
  readonly npm: string
}

/** Below $XDG_CACHE_HOME, or ~/.cache; a folder for each set of versions. */
export async function installClients(): Promise<Installed> {
  const cache = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'weir-llm-clients')
  return { python: await installPython(cache), npm: await installNpm(cache) }
}

/** Once for each content of `file`: `install` gets the folder. */
async function installed(cache: string, file: string, install: (folder: string) => Promise<void>): Promise<string> {
  const source = join(HERE, 'clients', file)
  const version = createHash('sha256').update(readFileSync(source)).digest('hex').slice(0, 12)
  const folder = join(cache, `${file}-${version}`)
  const mark = join(folder, 'complete')
  if (existsSync(mark)) return folder
  mkdirSync(folder, { recursive: true })
  copyFileSync(source, join(folder, file))
  await install(folder)
  writeFileSync(mark, '')
  return folder
}

async function installPython(cache: string): Promise<string> {
  const folder = await installed(cache, 'requirements.txt', async (at) => {
    await run('python3', ['-m', 'venv', join(at, 'venv')], at)
    await run(join(at, 'venv/bin/pip'), ['install', '-q', '-r', 'requirements.txt'], at)
  })
  return join(folder, 'venv/bin/python')
}

const installNpm = (cache: string): Promise<string> =>
  installed(cache, 'package.json', (at) => run('npm', ['install', '--no-audit', '--no-fund', '--silent'], at))

async function run(program: string, args: readonly string[], cwd: string): Promise<void> {
  const child = spawn(program, args, { cwd, stdio: ['ignore', 'ignore', 'inherit'], timeout: INSTALL_MS_MAX })
  const [code] = (await once(child, 'exit')) as [number | null]
  if (code !== 0) throw new Error(`${program} ${args.join(' ')}: exit code ${code}`)
}
