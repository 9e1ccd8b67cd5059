/** Where ids stand in bodies. */
import { deepEqual, equal, throws } from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '#backends/llm/conversation.ts'
import { FIELDS, mayRefer, References, sealBody } from './references.ts'
import { type StoredKind, sealId } from './seal.ts'

const store = { tag: 'abcd', key: Buffer.alloc(32, 1) }
const other = { tag: 'efgh', key: Buffer.alloc(32, 2) }
const access = { stores: [store, other], tenant: 'ann' }
const id = (raw: string, kind: StoredKind = 'file', of = store) => sealId(raw, kind, { ...of, tenant: 'ann' })

const BODIES: readonly [name: string, raw: JsonObject, sealed: JsonObject][] = [
  [
    'Responses',
    {
      previous_response_id: 'resp_1',
      conversation: { id: 'conv_1' },
      input: [{ role: 'user', content: [{ type: 'input_file', file_id: 'file-1' }] }],
      tools: [
        { type: 'file_search', vector_store_ids: ['vs_1', 'vs_2'] },
        { type: 'code_interpreter', container: { type: 'auto', file_ids: ['file-2'] } },
        { type: 'code_interpreter', container: 'cntr_1' },
        { type: 'function', name: 'f', parameters: { properties: { file_id: { type: 'string' } } } }
      ]
    },
    {
      previous_response_id: id('resp_1', 'response'),
      conversation: { id: id('conv_1', 'conversation') },
      input: [{ role: 'user', content: [{ type: 'input_file', file_id: id('file-1') }] }],
      tools: [
        { type: 'file_search', vector_store_ids: [id('vs_1', 'vector store'), id('vs_2', 'vector store')] },
        { type: 'code_interpreter', container: { type: 'auto', file_ids: [id('file-2')] } },
        { type: 'code_interpreter', container: id('cntr_1', 'container') },
        { type: 'function', name: 'f', parameters: { properties: { file_id: { type: 'string' } } } }
      ]
    }
  ],
  [
    'Messages',
    {
      container: {
        id: 'container_1',
        skills: [
          { type: 'anthropic', skill_id: 'pptx' },
          { type: 'custom', skill_id: 'skill_1' }
        ]
      },
      messages: [
        { role: 'user', content: [{ type: 'document', source: { type: 'file', file_id: 'file_1' } }] },
        { role: 'assistant', content: [{ type: 'tool_use', id: 't', input: { file_id: 'my own', container: 'x' } }] }
      ]
    },
    {
      container: {
        id: id('container_1', 'container'),
        skills: [
          { type: 'anthropic', skill_id: 'pptx' },
          { type: 'custom', skill_id: id('skill_1', 'skill') }
        ]
      },
      messages: [
        { role: 'user', content: [{ type: 'document', source: { type: 'file', file_id: id('file_1') } }] },
        { role: 'assistant', content: [{ type: 'tool_use', id: 't', input: { file_id: 'my own', container: 'x' } }] }
      ]
    }
  ],
  [
    'GenerateContent',
    {
      cachedContent: 'cachedContents/1',
      contents: [
        {
          parts: [
            { fileData: { fileUri: 'https://generativelanguage.googleapis.com/v1beta/files/abc' } },
            { fileData: { fileUri: 'https://www.youtube.com/watch?v=abc' } },
            { functionCall: { name: 'f', args: { file_id: 'x' } } }
          ]
        }
      ]
    },
    {
      cachedContent: id('cachedContents/1', 'cached content'),
      contents: [
        {
          parts: [
            { fileData: { fileUri: `https://generativelanguage.googleapis.com/v1beta/${id('files/abc')}` } },
            { fileData: { fileUri: 'https://www.youtube.com/watch?v=abc' } },
            { functionCall: { name: 'f', args: { file_id: 'x' } } }
          ]
        }
      ]
    }
  ]
]

test('requests: ids are opened wherever a format has them, and nowhere else', () => {
  for (const [name, raw, sealed] of BODIES) {
    const references = new References(access)
    deepEqual(references.openBody(sealed), raw, name)
    equal(references.store, store, name)
    equal(mayRefer(Buffer.from(JSON.stringify(sealed))), true, name)
  }
  const plain = { model: 'm', messages: [{ role: 'user', content: 'file-1' }] }
  equal(new References(access).openBody(plain), plain)
  equal(mayRefer(Buffer.from(JSON.stringify(plain))), false)
  equal(mayRefer(Buffer.from('{"\\u0066ile_id":"file-1"}')), true)
})

test("requests: no id without a mark, none of another tenant's, and those of one account only", () => {
  const open = (body: JsonObject, tenant = 'ann') => new References({ ...access, tenant }).openBody(body)
  throws(() => open({ previous_response_id: 'resp_1' }), {
    field: 'previous_response_id',
    message: /there is no response/
  })
  throws(() => open({ input: [{ file_id: id('file-1') }] }, 'bob'), { field: 'input[0].file_id' })
  throws(() => open({ file_ids: [id('file-1'), id('file-2', 'file', other)] }), {
    field: 'file_ids[1]',
    message: 'is kept by another provider than the other ids of this request'
  })
  throws(() => open({ input_file_id: id('file-1', 'batch') }), { field: 'input_file_id' })
})

test('answers: what an object says that it is decides which of its ids get marks', () => {
  const seal = { ...store, tenant: 'ann' }
  const batch = {
    id: 'batch_1',
    object: 'batch',
    input_file_id: 'file-1',
    output_file_id: null,
    metadata: { file_id: 'x' }
  }
  deepEqual(
    sealBody(
      { object: 'list', data: [batch], first_id: 'batch_1', last_id: 'batch_1', has_more: false },
      seal,
      'batch'
    ),
    {
      object: 'list',
      data: [{ ...batch, id: id('batch_1', 'batch'), input_file_id: id('file-1') }],
      first_id: id('batch_1', 'batch'),
      last_id: id('batch_1', 'batch'),
      has_more: false
    }
  )
  const response = {
    id: 'resp_1',
    object: 'response',
    previous_response_id: null,
    conversation: { id: 'conv_1' },
    output: [
      {
        id: 'msg_1',
        type: 'message',
        content: [{ type: 'output_text', text: 'resp_1', annotations: [{ file_id: 'file-1' }] }]
      }
    ]
  }
  deepEqual(sealBody({ type: 'response.completed', response }, seal, null), {
    type: 'response.completed',
    response: {
      ...response,
      id: id('resp_1', 'response'),
      conversation: { id: id('conv_1', 'conversation') },
      output: [
        {
          id: 'msg_1',
          type: 'message',
          content: [{ type: 'output_text', text: 'resp_1', annotations: [{ file_id: id('file-1') }] }]
        }
      ]
    }
  })
  deepEqual(
    sealBody({ file: { name: 'files/abc', uri: 'https://g.test/v1beta/files/abc', displayName: 'abc' } }, seal, 'file'),
    {
      file: { name: id('files/abc'), uri: `https://g.test/v1beta/${id('files/abc')}`, displayName: 'abc' }
    }
  )
  deepEqual(sealBody({ name: 'batches/1', response: { responsesFile: 'files/out' } }, seal, 'batch'), {
    name: id('batches/1', 'batch'),
    response: { responsesFile: id('files/out') }
  })
  deepEqual(sealBody({ type: 'message_batch', id: 'msgbatch_1', results_url: null }, seal, 'batch'), {
    type: 'message_batch',
    id: id('msgbatch_1', 'batch'),
    results_url: null
  })
})

test('every field that holds an id is seen before the body is parsed', () => {
  for (const name of FIELDS.keys()) equal(mayRefer(Buffer.from(`{"${name}":"x"}`)), true, name)
  // It has a part of such a name, and none of them.
  equal(mayRefer(Buffer.from('{"tool_call_id":"x","profile":"y"}')), false)
})
