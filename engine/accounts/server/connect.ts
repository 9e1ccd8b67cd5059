/** A connection to the server of config.state.url. Its client is loaded where it is used: it takes some 20 ms. */
import type { StateServerSpec } from '#engine/contract/accounts.ts'
import type { Connection } from './operations.ts'

/** `lost`: it is of no more use. Rejects in words without secrets. */
export async function connectTo(spec: StateServerSpec, lost: (error: Error) => void): Promise<Connection> {
  if (spec.kind === 'redis') {
    const { connectRedis } = await import('./redis/connect.ts')
    return await connectRedis(spec, lost)
  }
  const { connectPostgres } = await import('./postgres/connect.ts')
  return await connectPostgres(spec, lost)
}

/** For people: "redis://host:6379/0". */
export function serverText({ kind, isTls, host, port, database }: StateServerSpec): string {
  const scheme = kind === 'postgres' ? 'postgres' : isTls ? 'rediss' : 'redis'
  return `${scheme}://${host.includes(':') ? `[${host}]` : host}:${port}/${database}`
}
