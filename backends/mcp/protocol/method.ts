/** A method in one revision: which side answers it, and which may send it. Tables: stateful.ts, stateless.ts. */

export interface Method {
  /**
   * Who answers: the target that has the named tool, prompt, resource or task; what `ref` names (completion); every
   * target, the answers merged; the client (a server asks); the gateway by itself.
   */
  readonly owner: 'tool' | 'prompt' | 'resource' | 'task' | 'reference' | 'all' | 'client' | 'gateway'
  /** Parameter that names it: mirrored as Mcp-Name in the stateless era. Null: nothing is named. */
  readonly named: 'name' | 'uri' | 'taskId' | null
  /** Whether a server may answer with a request for input (2026-07-28, basic/patterns/mrtr, Supported Requests). */
  readonly asksBack: boolean
  /** Whether its results carry ttlMs and cacheScope (2026-07-28, server/utilities/caching). */
  readonly cacheable: boolean
}

export type MethodTable = ReadonlyMap<string, Method>

export function method(owner: Method['owner'], rest: Partial<Omit<Method, 'owner'>> = {}): Method {
  return { owner, named: null, asksBack: false, cacheable: false, ...rest }
}
