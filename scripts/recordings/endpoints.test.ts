/** Recorded embeddings and rankings come through to clients of each format; what does not is told. */
import { deepEqual, equal, match } from 'node:assert/strict'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { stringify } from 'yaml'
import { runEndpoints } from './run-endpoints.ts'

async function run(t: TestContext, files: Readonly<Record<string, string>>) {
  const root = await mkdtemp(join(tmpdir(), 'weir-endpoints-'))
  t.after(() => rm(root, { recursive: true, force: true }))
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(root, name)), { recursive: true })
    await writeFile(join(root, name), text)
  }
  const lines: string[] = []
  const { isSame, tally } = await runEndpoints((line) => lines.push(line), root)
  return { isSame, lines, counts: tally.toJSON() }
}

const packed = Buffer.from(new Float32Array([0.5, 0.25]).buffer).toString('base64')
const interaction = (uri: string, parsed_body: object) => ({
  request: { method: 'POST', uri },
  response: { status: { code: 200 }, parsed_body }
})

test('fixtures and cassettes to clients of each format', async (t) => {
  const titan = 'https://bedrock-runtime.us-east-1.amazonaws.com/model/amazon.titan-embed-text-v2%3A0/invoke'
  const cassette = {
    interactions: [
      interaction('https://api.openai.com/v1/embeddings', { data: [{ embedding: packed }] }),
      interaction(titan, { embedding: [0.5], inputTextTokenCount: 1 })
    ]
  }
  const { isSame, lines, counts } = await run(t, {
    'packages/cohere/src/reranking/__fixtures__/cohere-reranking.1.json':
      '{"results":[{"index":1,"relevance_score":0.5}]}',
    'cassettes/a.yaml': stringify(cassette)
  })
  deepEqual(lines, [
    '| provider | clients ask by | passed |',
    '| openai | /v1/embeddings | 1 |',
    '| openai | /v2/embed | 1 |',
    '| openai | /v1beta/models/m:batchEmbedContents | 1 |',
    '| bedrock | /v1/embeddings | 1 |',
    '| bedrock | /v2/embed | 1 |',
    '| bedrock | /v1beta/models/amazon.titan-embed-text-v2:0:batchEmbedContents | 1 |',
    '| cohere | /v1/rerank | 1 |',
    '| cohere | /v2/rerank | 1 |',
    'endpoints: 8 passed, 0 failed'
  ])
  equal(isSame, true)
  deepEqual(counts, { bedrock: { embeddings: 1 }, cohere: { rerank: 1 }, openai: { embeddings: 1 } })
})

test('what providers keep is asked for as it was recorded', async (t) => {
  const file = { id: 'file-1', object: 'file', purpose: 'user_data' }
  const gone = { id: 'resp_1', object: 'response', deleted: true }
  const cassette = {
    interactions: [
      interaction('https://api.openai.com/v1/files', file),
      {
        ...interaction('https://api.openai.com/v1/responses/resp_1', gone),
        request: { method: 'DELETE', uri: 'https://api.openai.com/v1/responses/resp_1' }
      },
      interaction('https://api.openai.com/v1/completions', { choices: [{ text: 'a', finish_reason: 'stop' }] })
    ]
  }
  const { lines, counts } = await run(t, {
    'cassettes/a.yaml': stringify(cassette),
    'packages/mistral/src/__fixtures__/mistral-transcription.json': '{"text":"Hello","usage":{"total_tokens":3}}'
  })
  equal(lines.at(-1), 'endpoints: 4 passed, 0 failed')
  deepEqual(counts, { mistral: { transcriptions: 1 }, openai: { stored: 2, texts: 1 } })
})

test('what does not come through is told with its source', async (t) => {
  const broken = '{"results":[{"index":1}]}'
  const name = 'packages/cohere/src/reranking/__fixtures__/cohere-reranking.1.json'
  const { isSame, lines, counts } = await run(t, { [name]: broken })
  equal(isSame, false)
  deepEqual(counts, {})
  match(lines[0]!, /cohere-reranking\.1\.json to \/v1\/rerank: 502 .*results\[0\]/)
})
