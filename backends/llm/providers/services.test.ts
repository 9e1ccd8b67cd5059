/** What services are known to have beside chat, and in which words they are asked. */
import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import { bedrock } from './bedrock.ts'
import { serviceAt } from './dialects.ts'
import type { Operation } from './provider.ts'
import { isWithout } from './services.ts'

const MEDIA: readonly Operation[] = [
  ...(['embeddings', 'imageEdits', 'imageGenerations', 'imageVariations', 'moderations', 'rerank'] as const),
  ...(['speech', 'transcriptions', 'translations'] as const)
]

test('what a service lacks is said ahead of any call', () => {
  const lacks = (service: string) => MEDIA.filter((operation) => isWithout(service, operation))
  deepEqual(lacks('openai'), ['rerank'])
  deepEqual(lacks('azureopenai'), ['imageVariations', 'moderations', 'rerank'])
  deepEqual(lacks('openrouter'), [
    ...['imageEdits', 'imageGenerations', 'imageVariations', 'moderations', 'transcriptions', 'translations']
  ])
  deepEqual(lacks('vllm'), [])
})

test('who keeps files, batches and answers', () => {
  const keeps = (service: string) => !isWithout(service, 'stored')
  const all = ['openai', 'azureopenai', 'deepseek', 'fireworks', 'groq', 'mistral', 'together', 'voyage', 'xai', 'vllm']
  deepEqual(
    all.filter((service) => !keeps(service)),
    []
  )
  deepEqual(['cerebras', 'cohere', 'jina', 'lmstudio', 'openrouter'].filter(keeps), [])
})

test('Voyage at the host for keys of MongoDB Atlas', () => {
  equal(serviceAt('ai.mongodb.com'), 'voyage')
})

test('both names of the first Titan are known', () => {
  const cloud = { kind: 'bedrock', region: 'us-east-1', guardrail: null } as const
  const { lacksFor, wire } = bedrock.compile({ formats: [], cloud })
  for (const model of ['amazon.titan-embed-text-v1', 'amazon.titan-embed-g1-text-02']) {
    equal(lacksFor?.('embeddings', model), undefined)
    equal(wire?.('embeddings', model), 'invokeText')
  }
})
