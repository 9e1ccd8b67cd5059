/** The real clients in fixed versions. */
import { join } from 'node:path'
import { pinnedNpm, pinnedPython } from '#engine/testing/pinned.ts'

const CACHE = 'weir-llm-clients'
const CLIENTS = join(import.meta.dirname, 'clients')

export interface Installed {
  /** The interpreter that has Python's clients. */
  readonly python: string
  /** The folder that has npm's. */
  readonly npm: string
}

export async function installClients(): Promise<Installed> {
  return {
    python: await pinnedPython(CACHE, join(CLIENTS, 'requirements.txt')),
    npm: await pinnedNpm(CACHE, join(CLIENTS, 'package.json'))
  }
}
