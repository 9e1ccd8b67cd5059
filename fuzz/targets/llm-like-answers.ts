/**
 * What a vector service answers: nobody vouches for it. A value opens for the bucket that it was sealed for and no
 * other, and only as it was sealed; what else comes is nothing, and never an error.
 */
import assert from 'node:assert/strict'
import { qdrant } from '#backends/llm/cache/semantic/qdrant.ts'
import { Bucket, cosineOf, vectorOf } from '#backends/llm/cache/semantic/value.ts'
import { parseJson } from '#engine/kit/json.ts'

export const name = 'llm-like-answers'

const OWN = new Bucket('a-secret-of-all-replicas', 'rest')
const OTHER = new Bucket('a-secret-of-all-replicas', 'another rest')
const KEPT = {
  ...({ format: 'completions', isStream: false, hasUsage: true, usage: null } as const),
  ...{ provider: 'openai', requestModel: 'm', responseModel: 'm', at: 0 }
}

export const dictionary = [
  ...['{"result":{"points":[', '{"payload":{"weir_value":"', '"}}]}}', '"weir_value":null', '"points":[null]'],
  ...['[1,2,3]', '[0,0]', '[1e308,1e308]', '[5e-324]', 'NaN', 'null']
]

export function run(data: Buffer): void {
  const text = data.toString()
  answer(text)
  vector(text)
  value(data)
}

function answer(text: string): void {
  const found = qdrant.readFound(parseJson(text))
  if (found instanceof Buffer) assert.equal(OWN.open(found, 0, 0), null, 'nobody but the gateway seals')
}

function vector(text: string): void {
  const made = vectorOf(parseJson(text))
  if (made === null) return
  const cosine = cosineOf(made, made)
  assert.ok(Math.abs(cosine - 1) < 1e-3, `a vector is as long as 1: ${cosine}`)
}

/** The first byte says what of the sealed value is changed. */
function value(data: Buffer): void {
  const made = vectorOf([1, data.length, 3])!
  const sealed = OWN.seal(made, { ...KEPT, bytes: data }, 0, 0)
  const opened = OWN.open(sealed, 0, 0)
  assert.deepEqual(opened?.kept.bytes, data)
  assert.equal(OTHER.open(sealed, 0, 0), null)
  sealed[(data[0] ?? 0) % sealed.length]! ^= 1 + ((data[1] ?? 0) % 255)
  assert.equal(OWN.open(sealed, 0, 0), null)
}
