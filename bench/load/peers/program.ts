/** Programs of this machine. */
import { spawnSync } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import type { Command } from './peer.ts'

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

/** The first line that `command` prints when called with `option`, without its path; nginx writes it to stderr. */
export function versionOf({ program, args }: Command, option: string): string {
  const { stdout, stderr } = spawnSync(program, [...args, option], { encoding: 'utf8', timeout: 5_000 })
  const line = `${stdout}${stderr}`.trim().split('\n')[0] ?? ''
  return line.replace(program, '').trim()
}
