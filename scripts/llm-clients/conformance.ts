/**
 * `npm run conformance -- llm-clients`: real clients, unmodified, at the gateway. Its providers are doubles (doubles/)
 * that are as strict as the real ones; its settings are the defaults, unless `startProviders` is told others.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { claudeCode, codex } from './agents.ts'
import { PROVIDERS, type Providers, startProviders } from './doubles/provider.ts'
import { installClients } from './install.ts'
import { REFUSALS, startRefusals } from './refusals.ts'
import { type Loop, SDK_LOOPS } from './sdk-loops.ts'

const AI = fileURLToPath(new URL('./clients/ai.mjs', import.meta.url))
const LOOPS = fileURLToPath(new URL('./clients/loops.py', import.meta.url))
const STREAMS = fileURLToPath(new URL('./clients/streams.py', import.meta.url))
const RAISED = fileURLToPath(new URL('./clients/refusals.py', import.meta.url))
const RUN_MS_MAX = 900_000

export interface Case {
  readonly client: string
  readonly provider: string
  /** What was done with it. */
  readonly case: string
  /** Null: it passed. */
  readonly why: string | null
}

/** `only`: part of a client's name; "" for all. */
export async function runClients(only: string, settings: object): Promise<Case[]> {
  const { python, npm } = await installClients()
  const providers = await startProviders(settings)
  const refusals = await startRefusals()
  try {
    const names = Object.keys(PROVIDERS).join()
    return [
      ...(await ownCases(providers, only)),
      ...(await casesOf(process.execPath, [AI, npm, providers.base, names, only])),
      ...(await casesOf(python, [LOOPS, providers.base, names, only])),
      ...(await casesOf(python, [STREAMS, providers.base, names, only])),
      ...(await casesOf(python, [RAISED, refusals.base, only, JSON.stringify(REFUSALS)]))
    ]
  } finally {
    await refusals.close()
    await providers.close()
  }
}

/** They have streams only. */
const AGENTS: Readonly<Record<string, Loop>> = { 'Claude Code': claudeCode, Codex: codex }

/** Of the SDKs and agents that the tests have as well. */
async function ownCases({ base }: Providers, only: string): Promise<Case[]> {
  const cases: Case[] = []
  for (const [client, loop] of Object.entries({ ...SDK_LOOPS, ...AGENTS })) {
    if (!client.includes(only)) continue
    for (const provider of Object.keys(PROVIDERS)) {
      for (const isStreamed of client in AGENTS ? [true] : [false, true]) {
        const why = await loop(`${base}/${provider}`, isStreamed).then(() => null, String)
        cases.push({ client, provider, case: isStreamed ? 'streamed' : 'whole', why })
      }
    }
  }
  return cases
}

/** What a program of clients prints: one case on each line that is JSON. */
async function casesOf(program: string, args: readonly string[]): Promise<Case[]> {
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'ignore'], timeout: RUN_MS_MAX })
  const ended = once(child, 'exit')
  const cases: Case[] = []
  for await (const line of createInterface({ input: child.stdout }))
    if (line.startsWith('{')) cases.push(JSON.parse(line) as Case)
  const [code] = (await ended) as [number | null]
  if (code !== 0) throw new Error(`${program} ${args[0]}: exit code ${code}`)
  return cases
}

/** A table of clients and providers (passed/all), with `withMisses` what failed, and the sum. */
export function printClients(cases: readonly Case[], withMisses: boolean): string[] {
  const clients = [...new Set(cases.map(({ client }) => client))]
  const providers = [...Object.keys(PROVIDERS), 'refusals']
  const width = Math.max(...clients.map((client) => client.length))
  const widths = providers.map((provider) => Math.max(provider.length, 5))
  const line = (first: string, cells: readonly string[]): string =>
    [first.padEnd(width), ...cells.map((cell, i) => cell.padStart(widths[i]!))].join('  ')
  const lines = [line('', providers)]
  for (const client of clients) {
    const cells = providers.map((provider) => {
      const own = cases.filter((one) => one.client === client && one.provider === provider)
      const passed = own.filter(({ why }) => why === null).length
      return own.length === 0 ? '-' : `${passed}/${own.length}`
    })
    lines.push(line(client, cells))
  }
  const failed = cases.filter(({ why }) => why !== null)
  if (withMisses)
    for (const { client, provider, case: name, why } of failed) lines.push(`${client} -> ${provider} (${name}): ${why}`)
  lines.push(`llm-clients: ${cases.length - failed.length} passed, ${failed.length} failed`)
  return lines
}
