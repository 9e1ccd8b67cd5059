import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'

/** Where servers are installed that are not on the PATH of ordinary users. */
const FURTHER = ['/usr/sbin', '/usr/local/sbin', '/usr/local/bin']

/** Full path of the program called `name`, or null. */
export function findProgram(name: string): string | null {
  for (const folder of [...(process.env.PATH ?? '').split(delimiter), ...FURTHER]) {
    if (folder === '') continue
    const path = join(folder, name)
    try {
      accessSync(path, constants.X_OK)
      return path
    } catch {
      // Not in this folder: the next one may have it.
    }
  }
  return null
}
