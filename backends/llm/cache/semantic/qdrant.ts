/**
 * Qdrant's REST API (1.10 or newer; api.qdrant.tech, "Query points", "Upsert points", "Delete points"): what it is
 * asked, and what it answers. A point has the vector, and a payload of four fields.
 */
import { isObject } from '#engine/kit/scan/texts.ts'
import type { VectorKind } from './vector-kind.ts'

/** Of a payload: names that no other user of the collection has, since points are deleted by them. */
const BUCKET = 'weir_bucket'
const EXPIRES = 'weir_expires'
const VALUE = 'weir_value'
/** Of the value, before base64. */
const BYTES = 'weir_bytes'

/** The service compares rounded numbers: what it is asked for is a little less than what counts. */
const ROUNDING = 0.01

const ofBucket = (name: string) => ({ key: BUCKET, match: { value: name } })

export const qdrant: VectorKind = {
  keyField: 'api-key',
  find: (collection, { bucket, vector, threshold, nowS, valueBytesMax }) => ({
    method: 'POST',
    path: `/collections/${collection}/points/query`,
    body: {
      query: Array.from(vector),
      filter: {
        must: [ofBucket(bucket), { key: EXPIRES, range: { gt: nowS } }, { key: BYTES, range: { lte: valueBytesMax } }]
      },
      limit: 1,
      score_threshold: threshold - ROUNDING,
      with_payload: [VALUE],
      with_vector: false
    }
  }),
  readFound(answer) {
    const result = isObject(answer) ? answer.result : null
    const points = isObject(result) ? result.points : null
    if (!Array.isArray(points)) return undefined
    const [point] = points as readonly unknown[]
    const payload = isObject(point) ? point.payload : null
    const value = isObject(payload) ? payload[VALUE] : null
    return typeof value === 'string' ? Buffer.from(value, 'base64') : null
  },
  put: (collection, { id, bucket, vector, expiresS, value }) => ({
    method: 'PUT',
    path: `/collections/${collection}/points`,
    body: {
      points: [
        {
          id,
          vector: Array.from(vector),
          payload: { [BUCKET]: bucket, [EXPIRES]: expiresS, [BYTES]: value.length, [VALUE]: value.toString('base64') }
        }
      ]
    }
  }),
  sweep: (collection, nowS) => ({
    method: 'POST',
    path: `/collections/${collection}/points/delete`,
    body: { filter: { must: [{ key: EXPIRES, range: { lte: nowS } }] } }
  }),
  problemOf(status, collection) {
    if (status === 404) return `there is no collection ${collection}`
    if (status === 401 || status === 403) return 'it does not take apiKey'
    if (status === 400) return 'vectors of the collection have another size, or a name'
    return `it answers with status ${status}`
  }
}
