/**
 * V8's code cache for the modules of the program: a start compiles nothing that an earlier one has compiled. Where it
 * cannot be kept safely there is none; NODE_DISABLE_COMPILE_CACHE=1 says so too, and NODE_COMPILE_CACHE names a folder.
 */
import { lstatSync, mkdirSync, type Stats, statSync } from 'node:fs'
import { enableCompileCache, flushCompileCache } from 'node:module'
import { homedir } from 'node:os'
import { join } from 'node:path'

type Environment = Readonly<Record<string, string | undefined>>

/**
 * Enables it for this thread and those that it starts. Node keys the files by its version, by V8's flags and by the
 * text of each module, and trusts what they hold: nobody else may write to them.
 */
export function useCompileCache(env: NodeJS.ProcessEnv): void {
  const folder = env.NODE_COMPILE_CACHE ?? cacheFolder(env)
  if (folder === null) return
  enableCompileCache(folder)
  env.NODE_COMPILE_CACHE = folder
}

/** Writes what was compiled since the start. Other flags of V8 would not read what is written under these. */
export const writeCompileCache = flushCompileCache

/** Below the user's own caches, or in systemd's CacheDirectory; null when others could write to it. */
export function cacheFolder({ CACHE_DIRECTORY, XDG_CACHE_HOME }: Environment, home = homedir()): string | null {
  const caches = CACHE_DIRECTORY ?? XDG_CACHE_HOME ?? join(home, '.cache')
  const folder = join(caches, 'weir')
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    // systemd's is a link to where others cannot look.
    return isOwn(statSync(caches)) && isOwn(lstatSync(folder)) ? folder : null
  } catch {
    // A file system that is read-only, or no home: every start compiles.
    return null
  }
}

function isOwn(status: Stats): boolean {
  return status.isDirectory() && status.uid === process.getuid?.() && (status.mode & 0o022) === 0
}
