/** A reference that cannot be followed: requests that it is drawn for get 500 (Gateway API, HTTPBackendRef). */
import type { InvalidBackend } from '#backends/http/config/snapshot.ts'
import type { BackendContext, BackendKind, CompiledBackend } from '#engine/contract/backend.ts'
import { invalidConfig } from './config/invalid.ts'

// --- build time ---

function compile({ reference, reason }: InvalidBackend, { name, fail }: BackendContext): CompiledBackend {
  const detail = `${reference}: ${reason}`
  return {
    // It keeps its share of the requests: the other backends of the route have not been sized for it.
    isUsable: () => true,
    // --- request time ---
    serve: (ex) => {
      ex.backend = name
      ex.backendType = invalidBackend
      ex.errorDetail = detail
      fail(ex, 'INVALID_BACKEND')
    }
  }
}

export const invalidBackend: BackendKind = {
  kind: 'invalid',
  protocol: 'http',
  config: invalidConfig,
  stream: ({ unread }: InvalidBackend, endsTls: boolean) =>
    unread === null || endsTls
      ? 'INVALID_BACKEND'
      : { to: { ...unread, unixPath: null }, guarded: false, allow: [], transport: undefined },
  compile
}
