/** Programs of the system that tests start (openssl, nginx, HAProxy): where they are, and how a missing one is told. */
import { accessSync, constants, statSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/** Where packages put servers, which is on the PATH of root only. */
const SERVER_FOLDERS = ['/usr/sbin', '/sbin', '/usr/local/sbin']

/** The file of a program. Null: it is not installed. */
export function findSystemProgram(name: string, path = process.env.PATH ?? ''): string | null {
  const folders = [...path.split(delimiter).filter((folder) => folder !== ''), ...SERVER_FOLDERS]
  return folders.map((folder) => join(folder, name)).find(isProgram) ?? null
}

/** The same, of a program without which a test says nothing: throws when it is not installed. */
export function systemProgram(name: string, path?: string): string {
  const found = findSystemProgram(name, path)
  if (found !== null) return found
  throw new Error(
    `${name} is not installed, and this test starts it: it is in no folder of PATH, nor in ${SERVER_FOLDERS.join(', ')}`
  )
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return statSync(file).isFile()
  } catch {
    // It is not there, or is not for this user: the next folder is looked at.
    return false
  }
}
