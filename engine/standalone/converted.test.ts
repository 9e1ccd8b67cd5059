/** Long documents in YAML: what another thread reads, how often, and what becomes of mistakes. */

import { deepEqual, equal, throws } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { backends } from '#backends/index.ts'
import type { McpBackend } from '#backends/mcp/config/snapshot.ts'
import type { McpOpenApiTarget } from '#backends/mcp/targets/openapi/config.ts'
import { OffloadPool } from '#engine/workers/offload.ts'
import { ConvertedTexts, jsonOfYaml } from './converted.ts'
import { loadConfig } from './load.ts'
import { YAML_JOB } from './yaml-job.ts'

const long = (name: string): string =>
  `openapi: 3.0.3\n${`# ${'x'.repeat(98)}\n`.repeat(700)}info: { title: ${name} }\npaths: {}\n`

function counted(): { texts: ConvertedTexts; converted: string[] } {
  const converted: string[] = []
  const convert = async (yaml: string): Promise<string> => {
    converted.push(yaml)
    return jsonOfYaml(yaml)
  }
  return { texts: new ConvertedTexts(convert), converted }
}

describe('a document in YAML', () => {
  it('is read elsewhere, once for a loading, when it is long', async () => {
    const { texts, converted } = counted()
    let loads = 0
    const load = async (): Promise<unknown[]> => {
      loads++
      const all = [long('a'), 'openapi: 3.0.3', long('a'), long('b')]
      return all.map((yaml) => {
        try {
          return texts.read(yaml)
        } catch (error) {
          return (error as Error).message
        }
      })
    }
    const value = (title: string) => ({ openapi: '3.0.3', info: { title }, paths: {} })
    deepEqual(await texts.loaded(load), [value('a'), { openapi: '3.0.3' }, value('a'), value('b')])
    deepEqual([loads, converted.length], [2, 2])
  })

  it('has the mistakes that it would have here', async () => {
    const { texts } = counted()
    const wrong = `${long('a')}paths: {}\n`
    const read = async (): Promise<void> =>
      throws(() => texts.read(wrong), /is given twice at line 704, column 1|not been read/)
    await texts.loaded(read)
    const laughs = `a: &a ${'x'.repeat(1_000_000)}\nb: [${'*a, '.repeat(100)}]`
    throws(() => jsonOfYaml(laughs), /more than 67108864 characters, with what aliases repeat/)
  })

  it('is a target of a configuration, read by a thread', async () => {
    const pool = new OffloadPool(import.meta.resolve('#engine/process/jobs.ts'))
    const texts = new ConvertedTexts(async (yaml) => (await pool.run(YAML_JOB, yaml)) as string)
    const file = 'mcp: { targets: [{ name: a, openapi: { host: "http://b:1", schema: { file: /api.yaml } } }] }'
    const load = (yaml: string) =>
      texts.loaded(async () => {
        const options = {
          file: 'weir.yaml',
          env: {},
          policies: [],
          backends,
          readYaml: texts.read,
          readFile: () => yaml
        }
        return loadConfig(file, options)
      })
    try {
      const loaded = await load(long('a'))
      const backend = loaded.ok ? (loaded.snapshot.backends['mcp/targets'] as McpBackend) : null
      const target = backend?.targets[0] as McpOpenApiTarget | undefined
      deepEqual(target?.document, { openapi: '3.0.3', info: { title: 'a' }, paths: {} })
      const refused = await load(`${long('a')}paths: {}\n`)
      equal(refused.ok ? '' : refused.errors[0]!.message, '/api.yaml: is given twice at line 704, column 1')
    } finally {
      await pool.close()
    }
  })
})
