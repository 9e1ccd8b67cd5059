/** Where things that a conformance run needs are kept: outside the repository. */
import { mkdirSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'

export function cacheFolder(...path: string[]): string {
  const root = process.env.WEIR_CONFORMANCE_CACHE ?? join(homedir(), '.cache', 'weir-conformance')
  const folder = join(root, ...path)
  mkdirSync(folder, { recursive: true })
  return folder
}
