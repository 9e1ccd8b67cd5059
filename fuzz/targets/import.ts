/**
 * Files of other gateways (engine/importers): whatever one says, what is made of it loads, the same each time, and the
 * port of a LiteLLM proxy with a master key never becomes one that anybody may use.
 */
import assert from 'node:assert/strict'
import { backends } from '#backends/index.ts'
import type { ForeignFile } from '#engine/contract/importer.ts'
import { importers, isImportError, settled } from '#engine/importers/index.ts'
import { foreignFile, importText } from '#engine/process/import-command.ts'
import { objectOf } from '#engine/schema/placed.ts'
import { loadConfig } from '#engine/standalone/load.ts'
import { policies } from '#policies/index.ts'

export const name = 'import'
export const dictionary = [
  ...[
    'model_list:',
    'model_name: ',
    'litellm_params: ',
    'model: openai/',
    'api_base: ',
    'api_key: os.environ/A',
    'rpm: 5'
  ],
  ...[
    'general_settings: ',
    'master_key: ',
    'litellm_settings: ',
    'max_budget: ',
    'budget_duration: 30d',
    'fallbacks: '
  ],
  ...['router_settings: ', 'guardrails: ', 'mcp_servers: ', 'input_cost_per_token: 1e-7', 'weight: 2', 'order: 1'],
  ...['binds:', 'listeners:', 'routes:', 'backends:', 'policies: ', 'gateways: ', 'ai: ', 'promptGuard: ', 'mcp: '],
  ...[
    'oauthTokenExchange: ',
    'directResponse: ',
    'conditional: ',
    'virtualModels: ',
    '\n- ',
    '\n  ',
    ': ',
    '{',
    '}',
    '[',
    ']',
    '*'
  ],
  ...['$A', '$$', '$', '${', 'A:-b}', '@', 'null', '0', '-1', '1e999', '"', "'", '#']
]

/** Longer files only take longer. */
const CHARS_MAX = 4_000
const world = { env: { A: '8080' }, folder: import.meta.dirname }

export function run(data: Buffer): void {
  const file = fileOf(data.toString('utf8').slice(0, CHARS_MAX))
  if (file === null) return
  for (const importer of importers) {
    try {
      const made = importText([file], importer, { settled, policies, backends }, world)
      assert.equal(importText([file], importer, { settled, policies, backends }, world).text, made.text)
      for (const { place, reason } of made.notes) assert.ok(place !== '' && reason !== '')
      // Other variables stand for what fits their places.
      if (!made.text.includes('$')) {
        const { ok } = loadConfig(made.text, { file: 'made.yaml', env: {}, policies, backends })
        assert.ok(ok, made.text)
      }
      const { master_key: key } = objectOf(objectOf(file.value).general_settings)
      const isOpen = !/^keys:|authorization:/m.test(made.text)
      if (importer.name === 'litellm' && typeof key === 'string' && key !== '' && /^llm:/m.test(made.text))
        assert.ok(!isOpen, made.text)
    } catch (error) {
      if (!isImportError(error)) throw error
    }
  }
}

/** Null: it is no YAML. */
function fileOf(text: string): ForeignFile | null {
  try {
    return foreignFile('fuzz.yaml', text)
  } catch (error) {
    assert.match((error as Error).message, /^fuzz\.yaml:\d+:\d+: ./)
    return null
  }
}
