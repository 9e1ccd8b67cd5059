/** The hooks of routes and listeners that wait for bodies. */
import { collectRequest, collectResponse } from '#engine/contract/body.ts'
import { collectRequestPrefix, collectResponsePrefix } from '#engine/contract/body-prefix.ts'
import type { Collectors } from './policies.ts'
import type { RuntimeDeps } from './runtime-types.ts'

export const collectorsOf = (maxBufferBytes: number, fail: RuntimeDeps['fail']): Collectors => ({
  request: collectRequest(maxBufferBytes),
  response: collectResponse(maxBufferBytes, fail),
  requestPrefix: collectRequestPrefix(maxBufferBytes),
  responsePrefix: collectResponsePrefix(maxBufferBytes, fail)
})
