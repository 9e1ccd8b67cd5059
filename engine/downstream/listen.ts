/** Opens the socket of a bind and puts the right transport behind it. */
import type { Bind } from '#engine/ir/snapshot.ts'
import type { BindContext, OpenBind } from './bind.ts'
import { openNode } from './node-bind.ts'
import { capabilitiesOf } from './transports.ts'
import { openUws } from './uws/bind.ts'
import { UWS } from './uws/capabilities.ts'
import type { loadUws } from './uws/library.ts'

/**
 * 'auto' and 'node' are the node transport: for clear-text HTTP it is measured faster
 * (docs/performance.md). 'uws' forces uWebSockets.js; where it has no binary the node transport serves,
 * and `detail` says why. Rejects with the system's error (EADDRINUSE, EACCES) when the port cannot be
 * had, and when 'uws' cannot honour the settings. `load`: for tests.
 */
export async function openBind(bind: Bind, context: BindContext, load?: typeof loadUws): Promise<OpenBind> {
  if (capabilitiesOf(bind.transport) !== UWS) return await openNode(bind, context)
  const opened = await openUws(bind, context, load)
  if (!('missing' in opened)) return opened
  return await openNode(bind, context, `; uws is not available: ${opened.missing}`)
}
