/** Whose the objects of providers are, at the server of `config.state.url`. */
import { AWAY, type ServerBooks } from '#engine/accounts/server/client.ts'
import type { ObjectTable } from '#engine/accounts/server/operations.ts'
import type { ObjectOwners } from '#engine/contract/object-owners.ts'

export function objectsAt(server: ServerBooks, now: () => number): ObjectOwners {
  const ask = async <T>(act: (objects: ObjectTable) => Promise<T>): Promise<T> => {
    const answer = await server.withObjects(act)
    if (answer === AWAY) throw new Error('the server of config.state.url is away')
    return answer
  }
  return {
    note: async (holder, objects) => await ask((table) => table.note(holder, objects, now())),
    forget: async (holder, object) => await ask((table) => table.forget(holder, object)),
    owned: async (holder, objects) => await ask((table) => table.owned(holder, objects, now()))
  }
}
