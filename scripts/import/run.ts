/**
 * Files of other gateways through `weir import`, of a clone that is given. A file is "as it is" when weir takes it
 * without a change; "whole" when all of it is carried; "closed" when a place refuses everything, since what protects it
 * is missing; "in part" when its traffic is served and something else is not there; and "not" when what it is about is
 * missing (MISSING). All have to load.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { backends } from '#backends/index.ts'
import { importers, settled } from '#engine/importers/index.ts'
import { foreignFile, importText } from '#engine/process/import-command.ts'
import { loadConfig } from '#engine/standalone/load.ts'
import { policies } from '#policies/index.ts'

/** Examples of agentgateway that are about what weir does not have. */
const MISSING: Readonly<Record<string, string>> = {
  'traffic-egress-proxy/config-conditional.yaml': 'HTTP CONNECT',
  'traffic-egress-proxy/config-dynamic-tls.yaml': 'HTTP CONNECT, certificates made by an authority of its own',
  'traffic-egress-proxy/config.yaml': 'HTTP CONNECT',
  'traffic-oidc/config.yaml': 'logins of browsers (OpenID Connect)',
  'traffic-spiffe/config.yaml': 'certificates of SPIFFE',
  'fault-injection/config.yaml': 'delays'
}
/** How many of agentgateway's examples are carried, as they are, whole or in part. */
const CARRIED_MIN = 38

/** False: one of them does not load, or too few are carried. */
export function runImports(print: (line: string) => void, folders: readonly string[]): boolean {
  if (folders.length === 0) {
    print('import: skipped: it needs a clone of agentgateway/agentgateway, or a folder of files of LiteLLM')
    return true
  }
  return folders.map((folder) => runFolder(resolve(folder), print)).every(Boolean)
}

function runFolder(folder: string, print: (line: string) => void): boolean {
  const examples = join(folder, 'examples')
  const from = existsSync(examples) ? 'agentgateway' : 'litellm'
  const root = from === 'agentgateway' ? examples : folder
  const counts: Record<string, number> = {}
  print(`| ${from} | runs | what is not carried |\n|---|---|---|`)
  for (const path of filesOf(root, from)) {
    const name = relative(root, path)
    const { verdict, notes } = judge(from, folder, path, name)
    counts[verdict] = (counts[verdict] ?? 0) + 1
    print(`| ${name} | ${verdict} | ${notes} |`)
  }
  const text = Object.entries(counts).map(([verdict, count]) => `${count} ${verdict}`)
  print(`import ${from}: ${text.join(', ')}`)
  const carried = (counts['as it is'] ?? 0) + (counts.whole ?? 0) + (counts['in part'] ?? 0)
  return counts.fails === undefined && (from !== 'agentgateway' || carried >= CARRIED_MIN)
}

function filesOf(root: string, from: string): string[] {
  const mark = from === 'litellm' ? /^(?:model_list|general_settings):/m : /^(?:binds|llm|mcp|gateways):/m
  const all = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((name) => /\.ya?ml$/.test(name))
  const paths = all.toSorted().map((name) => join(root, name))
  return paths.filter((path) => {
    const text = readFileSync(path, 'utf8')
    // Manifests and values of charts are no files of a gateway.
    return mark.test(text) && !/^apiVersion:/m.test(text) && !/values\.yaml$/.test(path)
  })
}

function judge(from: string, folder: string, path: string, name: string): { verdict: string; notes: string } {
  const text = readFileSync(path, 'utf8')
  const common = { file: name, policies, backends }
  if (from === 'agentgateway' && loadConfig(text, { ...common, env: variablesOf(text), folder: dirname(path) }).ok) {
    return { verdict: 'as it is', notes: '' }
  }
  const places = [folder, dirname(path)]
  const pathTo = (other: string): string =>
    places.map((one) => resolve(one, other)).find((one) => existsSync(one)) ?? other
  const importer = importers.find((one) => one.name === from)!
  const made = importText(
    [foreignFile(name, text, pathTo)],
    importer,
    { settled, policies, backends },
    { env: {}, folder }
  )
  const isLoaded = loadConfig(made.text, { ...common, env: variablesOf(made.text), folder }).ok
  const lost = made.notes.map(({ place, reason }) => `${place.replace(`${name}:`, 'line ')}: ${reason}`)
  if (!isLoaded) return { verdict: 'fails', notes: 'what is made of it does not load' }
  if (MISSING[name] !== undefined) return { verdict: 'not', notes: MISSING[name] }
  if (lost.some((one) => /refuses everything|denies all/.test(one)))
    return { verdict: 'closed', notes: lost.join('; ') }
  return lost.length === 0 ? { verdict: 'whole', notes: '' } : { verdict: 'in part', notes: lost.join('; ') }
}

/** Addresses and regions have to look like some. */
function variablesOf(text: string): Record<string, string> {
  const names = [...text.matchAll(/\$\{?([A-Za-z_][A-Za-z0-9_]*)/g)].map(([, name]) => name!)
  const standIn = (name: string): string => {
    if (/VERSION/.test(name)) return '2024-10-21'
    if (/HOST|DOMAIN/.test(name)) return 'host.example'
    return /BASE|URL|ENDPOINT/.test(name) ? 'https://host.example' : 'variable'
  }
  return Object.fromEntries(names.map((name) => [name, standIn(name)]))
}
