/** What a command name means, looked up before anything is started: the reasons come in words. */
import { accessSync, constants, statSync } from 'node:fs'
import { delimiter, isAbsolute, join, resolve } from 'node:path'
import type { ChildSpec } from '#engine/contract/children.ts'

/** What a process may know of the gateway's own environment: nothing that could be a secret. */
const INHERITED = ['PATH', 'HOME', 'LANG', 'TERM', 'TMPDIR', 'USER']
/** Where a system without PATH looks (POSIX, confstr _CS_PATH). */
const DEFAULT_PATH = '/usr/local/bin:/usr/bin:/bin'

export function environmentOf(spec: ChildSpec, own: NodeJS.ProcessEnv = process.env): Record<string, string> {
  const env: Record<string, string> = {}
  for (const name of INHERITED) if (own[name] !== undefined) env[name] = own[name]
  return Object.assign(env, spec.env)
}

/** Absolute path of the program. Throws an Error that says what is wrong. */
export function findCommand(spec: ChildSpec, env: Readonly<Record<string, string>>): string {
  const { cmd, cwd } = spec
  const folder = resolve(cwd ?? '.')
  if (cwd !== null && !isFolder(folder)) throw new Error('its folder (cwd) does not exist')
  if (cmd.includes('\0') || spec.args.some((arg) => arg.includes('\0')))
    throw new Error('its command has a zero character in it')
  const places = cmd.includes('/') ? [''] : (env.PATH ?? DEFAULT_PATH).split(delimiter)
  let isThere = false
  for (const place of places) {
    const path = isAbsolute(cmd) ? cmd : resolve(folder, join(place, cmd))
    const state = stateOf(path)
    if (state === 'runs') return path
    isThere ||= state === 'exists'
  }
  if (isThere) throw new Error(`its command '${cmd}' is not an executable file`)
  // As in a shell: what most people write who have only one text.
  const hint = /\s/.test(cmd.trim()) ? ': what stands behind the program belongs in args' : ''
  throw new Error(`its command '${cmd}' was not found${cmd.includes('/') ? '' : ' in PATH'}${hint}`)
}

function stateOf(path: string): 'runs' | 'exists' | 'missing' {
  const stat = statSync(path, { throwIfNoEntry: false })
  if (stat === undefined) return 'missing'
  if (!stat.isFile()) return 'exists'
  try {
    accessSync(path, constants.X_OK)
    return 'runs'
  } catch {
    // The reason is in the answer.
    return 'exists'
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}
