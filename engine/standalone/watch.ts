/**
 * Watches one file by its content: editors that rename over it and Kubernetes, which swaps a symlink
 * above it, both look like a change of what can be read at the path.
 */
import { createHash } from 'node:crypto'
import { type FSWatcher, watch } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { dirname } from 'node:path'

/** Events come in bursts; the last one of a burst counts. */
const SETTLE_MS = 50
/** For file systems without events. */
const POLL_MS = 2_000

export interface FileWatch {
  close(): void
}

/** Calls `onChange` with the new text whenever it differs from the text before (first: `current`). */
export function watchFile(path: string, current: string, onChange: (text: string) => void): FileWatch {
  let last = digest(current)
  let settle: NodeJS.Timeout | null = null
  let closed = false

  async function check(): Promise<void> {
    let text: string
    try {
      text = await readFile(path, 'utf8')
    } catch {
      // Between the removal of the old file and the rename of the new one there is nothing to read.
      return
    }
    const seen = digest(text)
    if (closed || seen === last) return
    last = seen
    onChange(text)
  }

  function soon(): void {
    if (settle !== null) clearTimeout(settle)
    settle = setTimeout(check, SETTLE_MS)
    settle.unref()
  }

  const watcher = watchFolder(dirname(path), soon)
  const poll = setInterval(check, POLL_MS)
  poll.unref()
  return {
    close() {
      closed = true
      clearInterval(poll)
      if (settle !== null) clearTimeout(settle)
      watcher?.close()
    }
  }
}

/** The folder, not the file: a file that is replaced takes its watch with it. Null: polling does it alone. */
function watchFolder(folder: string, onEvent: () => void): FSWatcher | null {
  try {
    const watcher = watch(folder, { persistent: false }, onEvent)
    watcher.on('error', () => watcher.close())
    return watcher
  } catch {
    // No inotify left, or a file system without it.
    return null
  }
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
