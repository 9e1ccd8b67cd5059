/** Recorded embeddings and rankings come through to clients of each format; what does not is told. */
import { deepEqual, equal, match } from 'node:assert/strict'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { stringify } from 'yaml'
import { runEndpoints } from './endpoints.ts'

async function run(t: TestContext, files: Readonly<Record<string, string>>) {
  const root = await mkdtemp(join(tmpdir(), 'weir-endpoints-'))
  t.after(() => rm(root, { recursive: true, force: true }))
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(root, name)), { recursive: true })
    await writeFile(join(root, name), text)
  }
  const lines: string[] = []
  return { isSame: await runEndpoints((line) => lines.push(line), root), lines }
}

const packed = Buffer.from(new Float32Array([0.5, 0.25]).buffer).toString('base64')
const interaction = (uri: string, parsed_body: object) => ({
  request: { method: 'POST', uri },
  response: { status: { code: 200 }, parsed_body }
})

test('a fixture and a cassette to clients of each format', async (t) => {
  const cassette = {
    interactions: [interaction('https://api.openai.com/v1/embeddings', { data: [{ embedding: packed }] })]
  }
  const { isSame, lines } = await run(t, {
    'packages/cohere/src/reranking/__fixtures__/cohere-reranking.1.json':
      '{"results":[{"index":1,"relevance_score":0.5}]}',
    'cassettes/a.yaml': stringify(cassette)
  })
  equal(isSame, true)
  deepEqual(lines, [
    '| provider | clients ask by | passed |',
    '| openai | /v1/embeddings | 1 |',
    '| openai | /v2/embed | 1 |',
    '| cohere | /v1/rerank | 1 |',
    '| cohere | /v2/rerank | 1 |',
    'endpoints: 4 passed, 0 failed'
  ])
})

test('what does not come through is told with its source', async (t) => {
  const broken = '{"results":[{"index":1}]}'
  const name = 'packages/cohere/src/reranking/__fixtures__/cohere-reranking.1.json'
  const { isSame, lines } = await run(t, { [name]: broken })
  equal(isSame, false)
  match(lines[0]!, /cohere-reranking\.1\.json to \/v1\/rerank: 502 .*results\[0\]/)
})
