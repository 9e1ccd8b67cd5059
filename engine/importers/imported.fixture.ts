/** Imports a file as `weir import` does, for tests. */
import { backends } from '#backends/index.ts'
import { foreignFile, importText } from '#engine/process/import-command.ts'
import { policies } from '#policies/index.ts'
import { importers, settled } from './index.ts'

/** `text`: of the configuration; `notes`: "place: reason". `env`: variables that are set. */
export function imported(from: string, text: string, env: Readonly<Record<string, string>> = {}) {
  const importer = importers.find(({ name }) => name === from)!
  const world = { env, folder: import.meta.dirname }
  const made = importText([foreignFile('config.yaml', text)], importer, { settled, policies, backends }, world)
  return { text: made.text, notes: made.notes.map(({ place, reason }) => `${place}: ${reason}`) }
}
