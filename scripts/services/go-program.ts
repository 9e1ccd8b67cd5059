/** Programs of Go modules in fixed versions, built once into a cache outside of the repository. Needs Go. */
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { basename, join } from 'node:path'
import { cacheFolder } from '#engine/testing/conformance-cache.ts'

/** Gives the path of the program. */
export function goProgram(path: string, version: string): string {
  const name = basename(path)
  const folder = cacheFolder('go-programs', `${name}-${version}`)
  const program = join(folder, name)
  if (existsSync(program)) return program
  const env = { ...process.env, GOBIN: folder }
  execFileSync('go', ['install', `${path}@${version}`], { env, stdio: ['ignore', 'ignore', 'inherit'] })
  return program
}
