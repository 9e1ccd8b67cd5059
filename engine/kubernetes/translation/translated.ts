/** Gateways and routes with all that was made of them. */
import type { KubernetesObject } from '#engine/kubernetes/objects/object.ts'
import type { GatewayState } from './attach/gateways.ts'
import type { Attachment, ParentState } from './attach/routes.ts'
import type { CompiledGateway } from './compile/gateway-compiler.ts'
import type { GatewayRecord, RouteRecord } from './compile/records.ts'

/** A Gateway of this controller. */
export interface TranslatedGateway {
  /** "namespace/name" */
  readonly name: string
  readonly state: GatewayState
  readonly record: GatewayRecord
  readonly compiled: CompiledGateway
}

/** Where a route stands. Plain data, the same object while nothing of it changes. */
export interface Parents {
  readonly all: readonly ParentState[]
  /** By "namespace/name" of Gateways: each listener once. */
  readonly attachments: Readonly<Record<string, readonly Attachment[]>>
}

export interface TranslatedRoute {
  readonly route: KubernetesObject
  readonly parents: Parents
  readonly record: RouteRecord
}

export function parentsRecord(all: readonly ParentState[]): Parents {
  const attachments: Record<string, Attachment[]> = {}
  for (const parent of all) {
    const own = attachments[parent.gateway] ?? []
    attachments[parent.gateway] = own
    const fresh = parent.attachments.filter(({ listener }) => own.every((one) => one.listener !== listener))
    own.push(...fresh)
  }
  return { all, attachments }
}
