/** What the MCP backends of one worker share, whatever configuration is active. */

import { OwnerRequests } from '#backends/mcp/bridge/owner-requests.ts'
import { PendingCalls } from '#backends/mcp/bridge/pending-calls.ts'
import { SessionStates } from '#backends/mcp/bridge/session-state.ts'
import { TargetStates } from '#backends/mcp/bridge/target-state.ts'
import { RestoreOwners } from '#backends/mcp/session/restore-owner.ts'
import { TargetBreakers } from '#backends/mcp/targets/circuit-breaker.ts'
import type { BackendContext } from '#engine/contract/backend.ts'
import { Bus } from './bus.ts'
import { RemoteRequests } from './remote-requests.ts'
export interface WorkerState {
  readonly bus: Bus
  readonly pendingCalls: PendingCalls
  readonly sessionStates: SessionStates
  readonly ownerRequests: OwnerRequests
  readonly breakers: TargetBreakers
  readonly targetStates: TargetStates
  readonly restoreOwners: RestoreOwners
}

export function newWorkerState(bus: Bus): WorkerState {
  const remoteRequests = new RemoteRequests(bus)
  return {
    bus,
    pendingCalls: new PendingCalls(bus, remoteRequests),
    sessionStates: new SessionStates(bus),
    ownerRequests: new OwnerRequests(bus, remoteRequests),
    breakers: new TargetBreakers(bus),
    targetStates: new TargetStates(),
    restoreOwners: new RestoreOwners(bus, remoteRequests)
  }
}

let state: WorkerState | null = null

/** That of this worker. */
export function workerState(place: BackendContext['worker']): WorkerState {
  state ??= newWorkerState(new Bus('weir.mcp', place))
  return state
}
