/**
 * recorded.json: which recorded exchanges have come through, by the public repository that has them. `npm run
 * conformance -- recordings FOLDER --write` writes it; docs/llm-endpoints.md shows it.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { serviceAt } from '#backends/llm/providers/dialects.ts'
import type { Tally } from './tally.ts'

const FILE = new URL('./recorded.json', import.meta.url)

interface Counts {
  readonly commit: string
  /** Of the commit. */
  readonly date: string
  /** Name of docs/llm-endpoints.md, or a host that has none -> wire format of chat, or endpoint -> how many. */
  readonly exchanges: Readonly<Record<string, Readonly<Record<string, number>>>>
}

/** By repository: "vercel/ai". */
export type Recorded = Readonly<Record<string, Counts>>

export const readRecorded = (): Recorded => JSON.parse(readFileSync(FILE, 'utf8')) as Recorded

/** Which clone `folder` is; throws where it is none of GitHub. */
export function repositoryOf(folder: string): {
  readonly name: string
  readonly commit: string
  readonly date: string
} {
  const git = (...args: string[]) => execFileSync('git', ['-C', folder, ...args], { encoding: 'utf8' }).trim()
  const url = git('remote', 'get-url', 'origin')
  const name = /github\.com[:/]([^/]+\/[^/]+?)(?:\.git)?$/.exec(url)?.[1]
  if (name === undefined) throw new Error(`${folder}: its origin, ${url}, is no repository of GitHub`)
  return { name, commit: git('rev-parse', 'HEAD'), date: git('log', '-1', '--format=%cs') }
}

/** In place of what the file had of this repository. */
export function writeRecorded({ name, ...of }: ReturnType<typeof repositoryOf>, tally: Tally): void {
  const all = { ...readRecorded(), [name]: { ...of, exchanges: tally.toJSON() } }
  const sorted = Object.entries(all).toSorted(([a], [b]) => (a < b ? -1 : 1))
  writeFileSync(FILE, `${JSON.stringify(Object.fromEntries(sorted), null, 2)}\n`)
}

/** Packages of vercel/ai, names of `llm.models`, and hosts that are not in compatible.ts. */
const NAMES: Readonly<Record<string, string>> = {
  'amazon-bedrock': 'bedrock',
  azure: 'azureopenai',
  google: 'gemini',
  'google-vertex': 'vertexai',
  moonshotai: 'moonshot',
  vertex: 'vertexai'
}
const HOSTS: readonly (readonly [host: RegExp, name: string])[] = [
  [/\.openai\.azure\.com$/, 'azureopenai'],
  [/^api\.anthropic\.com$/, 'anthropic'],
  [/^generativelanguage\.googleapis\.com$/, 'gemini'],
  [/aiplatform\.googleapis\.com$/, 'vertexai'],
  [/^bedrock-runtime\..*\.amazonaws\.com$/, 'bedrock'],
  [/^localhost:11434$/, 'ollama']
]

/** `provider`: of a recording. */
export function nameOf(provider: string): string {
  return NAMES[provider] ?? HOSTS.find(([host]) => host.test(provider))?.[1] ?? serviceAt(provider) ?? provider
}
