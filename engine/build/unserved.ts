/**
 * What becomes of requests that a route does not send on. Routes outlive what built them, so none of this is a closure
 * of the Builder (runtime.ts): it would keep that, with the routes of the configuration before, which keep theirs.
 */
import type { Exchange } from '#engine/contract/exchange.ts'
import type { MirrorRecorder } from '#engine/contract/route.ts'
import type { RuntimeDeps } from './runtime-types.ts'

const LEADS_BACK = 'leads back here: copies that return are not copied again'

export function withoutBackend({ fail }: RuntimeDeps): (ex: Exchange) => void {
  return (ex) => fail(ex, 'NO_BACKEND')
}

export function loopedAt(
  { services }: RuntimeDeps,
  recorder: MirrorRecorder,
  route: string,
  backend: string
): () => void {
  let isLogged = false
  return () => {
    recorder.dropped(backend)
    if (!isLogged) services.log('warn', `route ${route}: the mirror ${backend} ${LEADS_BACK}`)
    isLogged = true
  }
}
