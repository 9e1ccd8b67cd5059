/** The authority of a mesh, which asks the API server whose tokens it gets, and a workload that knows its clients. */
import { readFileSync } from 'node:fs'
import { KubernetesClient } from '#engine/kubernetes/client/client.ts'
import { inCluster } from '#engine/kubernetes/client/in-cluster.ts'
import { authority } from '#engine/testing/certificates.ts'
import { startMeshAuthority } from '#engine/testing/mesh-authority.ts'
import { startWorkload } from '#engine/testing/workload.ts'
import { relayTo } from './relay.ts'

export const MESH_AUDIENCE = 'istio-ca'
export const AUTHORITY_NAME = 'istiod.istio-system.svc'
export const AUTHORITY_PORT = 15_012
/** Where the Secrets of the players are mounted. */
export const CERTIFICATES = '/var/run/mesh'

const textOf = (file: string) => readFileSync(`${CERTIFICATES}/${file}`, 'utf8')
const pair = (name: string) => ({ cert: textOf(`${name}.crt`), key: textOf(`${name}.key`) })

export async function playMeshAuthority(): Promise<void> {
  const connection = inCluster({ env: process.env, now: () => performance.now() })
  if (connection === null) throw new Error('the authority asks the API server about tokens, and this is no pod')
  const client = new KubernetesClient(connection)
  const root = authority('mesh', pair('root'))
  const { port } = await startMeshAuthority(
    root,
    async (token) => {
      const { user = '', isGood } = await review(client, token)
      console.log(isGood ? `signs for ${user}` : 'refuses a token')
      return isGood
    },
    { names: [`DNS:${AUTHORITY_NAME}`] }
  )
  await relayTo(port, AUTHORITY_PORT)
}

async function review(client: KubernetesClient, token: string) {
  const spec = { token, audiences: [MESH_AUDIENCE] }
  const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec }
  const { status } = (await client.ask({
    method: 'POST',
    path: '/apis/authentication.k8s.io/v1/tokenreviews',
    body
  })) as { readonly status: { readonly authenticated?: boolean; readonly user?: { readonly username?: string } } }
  return { isGood: status.authenticated === true, user: status.user?.username }
}

/** Takes connections of the mesh alone, and prints who made them. */
export async function playWorkload(): Promise<void> {
  const { port, peers } = await startWorkload(pair('workload'), textOf('root.crt'), 'Hello from the mesh\n', () => {
    const { names = '' } = peers.at(-1) ?? {}
    console.log(`a connection of ${names}`)
  })
  await relayTo(port)
}
