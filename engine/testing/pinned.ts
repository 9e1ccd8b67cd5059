/** Packages in fixed versions, for conformance runs: installed once into a cache outside of the repository. */
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { basename, join } from 'node:path'

const INSTALL_MS_MAX = 900_000

/** Below $XDG_CACHE_HOME, or ~/.cache; a folder for each set of versions. */
function cacheOf(name: string): string {
  return join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), name)
}

/** Once for each content of the file `source`: `install` gets the folder. */
async function installed(cache: string, source: string, install: (folder: string) => Promise<void>): Promise<string> {
  const file = basename(source)
  const version = createHash('sha256').update(readFileSync(source)).digest('hex').slice(0, 12)
  const folder = join(cacheOf(cache), `${file}-${version}`)
  const mark = join(folder, 'complete')
  if (existsSync(mark)) return folder
  mkdirSync(folder, { recursive: true })
  copyFileSync(source, join(folder, file))
  await install(folder)
  writeFileSync(mark, '')
  return folder
}

/** The interpreter that has what the file `requirements` (requirements.txt) names; `options`: of pip. */
export async function pinnedPython(
  cache: string,
  requirements: string,
  options: readonly string[] = []
): Promise<string> {
  const folder = await installed(cache, requirements, async (at) => {
    await run('python3', ['-m', 'venv', join(at, 'venv')], at)
    await run(join(at, 'venv/bin/pip'), ['install', '-q', ...options, '-r', 'requirements.txt'], at)
  })
  return join(folder, 'venv/bin/python')
}

/** The folder that has what the file `manifest` (package.json) names. */
export const pinnedNpm = (cache: string, manifest: string): Promise<string> =>
  installed(cache, manifest, (at) => run('npm', ['install', '--no-audit', '--no-fund', '--silent'], at))

async function run(program: string, args: readonly string[], cwd: string): Promise<void> {
  const child = spawn(program, args, { cwd, stdio: ['ignore', 'ignore', 'inherit'], timeout: INSTALL_MS_MAX })
  const [code] = (await once(child, 'exit')) as [number | null]
  if (code !== 0) throw new Error(`${program} ${args.join(' ')}: exit code ${code}`)
}
