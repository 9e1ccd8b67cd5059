/** What a container is given: variables of its environment, and files of its volumes. */
import type { KubernetesClient } from '#engine/kubernetes/client/client.ts'
import { KINDS, type KubernetesObject, type ObjectKind } from '#engine/kubernetes/objects/object.ts'
import {
  type Container,
  type EnvironmentVariable,
  type KeyReference,
  type KeyToPath,
  type Pod,
  SERVICE_ACCOUNT,
  type VolumeSource
} from './kinds.ts'

export type Environment = Readonly<Record<string, string>>
/** Contents by path. */
export type Files = Map<string, Buffer>

/** `address`: of the Pod. Throws an Error for what cannot be had. */
export async function environmentOf(
  client: KubernetesClient,
  pod: Pod,
  { env = [] }: Container,
  address: string
): Promise<Environment> {
  const values: Record<string, string> = {}
  for (const variable of env) {
    const value = await variableValue(client, pod, variable, address)
    // "$(NAME)" is a variable that stands before.
    if (value !== null) {
      values[variable.name] = value.replace(/\$\((\w+)\)/g, (whole, name: string) => values[name] ?? whole)
    }
  }
  return values
}

async function variableValue(
  client: KubernetesClient,
  pod: Pod,
  { name, value = '', valueFrom }: EnvironmentVariable,
  address: string
): Promise<string | null> {
  if (valueFrom === undefined) return value
  const { fieldRef, secretKeyRef, configMapKeyRef, resourceFieldRef } = valueFrom
  // Every Pod may use one CPU of this node.
  if (resourceFieldRef?.resource === 'limits.cpu') return '1'
  if (fieldRef !== undefined) return fieldOf(pod, fieldRef.fieldPath, address)
  const found =
    secretKeyRef === undefined
      ? await keyOf(client, KINDS.ConfigMap, pod, configMapKeyRef)
      : await keyOf(client, KINDS.Secret, pod, secretKeyRef)
  if (found !== undefined) return found.toString()
  if ((secretKeyRef ?? configMapKeyRef)?.optional === true) return null
  throw new Error(`variable ${name} of Pod ${pod.metadata.name}: ${JSON.stringify(valueFrom)} has no value`)
}

async function keyOf(client: KubernetesClient, kind: ObjectKind, pod: Pod, reference: KeyReference | undefined) {
  if (reference === undefined) return undefined
  return (await contentsOf(client, kind, pod, reference.name))?.get(reference.key)
}

function fieldOf({ metadata, spec }: Pod, path: string, address: string): string {
  const fields: Environment = {
    'metadata.name': metadata.name,
    'metadata.namespace': metadata.namespace ?? '',
    'metadata.uid': metadata.uid ?? '',
    'spec.nodeName': spec.nodeName ?? '',
    'spec.serviceAccountName': spec.serviceAccountName ?? 'default',
    'status.podIP': address,
    'status.hostIP': address
  }
  const [, map, key] = /^metadata\.(labels|annotations)\['(.+)'\]$/.exec(path) ?? []
  const value = map === undefined ? fields[path] : (metadata[map as 'labels' | 'annotations']?.[key!] ?? '')
  if (value === undefined) throw new Error(`Pod ${metadata.name}: no field ${path} is known here`)
  return value
}

/** Null: nothing of it runs out. */
export interface VolumeFiles {
  readonly files: Files
  readonly expiresInSeconds: number | null
}

/** Throws an Error for a volume that cannot be had. */
export async function filesOf(client: KubernetesClient, pod: Pod, source: VolumeSource): Promise<VolumeFiles> {
  const { secret, configMap, downwardAPI, projected, serviceAccountToken, emptyDir } = source
  if (projected !== undefined) return projectedFiles(client, pod, projected.sources)
  if (serviceAccountToken !== undefined) {
    const { path, audience, expirationSeconds = 3600 } = serviceAccountToken
    const token = await requestToken(client, pod, audience, expirationSeconds)
    return { files: new Map([[path, Buffer.from(token)]]), expiresInSeconds: expirationSeconds }
  }
  if (downwardAPI !== undefined) {
    const items = downwardAPI.items ?? []
    const address = pod.status?.podIP ?? ''
    const files = new Map(
      items.map(({ path, fieldRef }) => [path, Buffer.from(fieldOf(pod, fieldRef.fieldPath, address))])
    )
    return { files, expiresInSeconds: null }
  }
  if (emptyDir !== undefined) return { files: new Map(), expiresInSeconds: null }
  const [kind, reference] = secret === undefined ? [KINDS.ConfigMap, configMap] : [KINDS.Secret, secret]
  if (reference === undefined) throw new Error(`Pod ${pod.metadata.name}: a volume of no known kind`)
  const name = ('secretName' in reference ? reference.secretName : reference.name) ?? ''
  const contents = await contentsOf(client, kind, pod, name)
  if (contents === null) throw new Error(`Pod ${pod.metadata.name}: there is no ${kind.kind} ${name} yet`)
  return { files: chosen(contents, reference.items), expiresInSeconds: null }
}

async function projectedFiles(client: KubernetesClient, pod: Pod, sources: readonly VolumeSource[]) {
  const files: Files = new Map()
  let expiresInSeconds: number | null = null
  for (const source of sources) {
    const of = await filesOf(client, pod, source)
    for (const [path, content] of of.files) files.set(path, content)
    expiresInSeconds = of.expiresInSeconds ?? expiresInSeconds
  }
  return { files, expiresInSeconds }
}

function chosen(contents: Files, items: readonly KeyToPath[] | undefined): Files {
  if (items === undefined) return contents
  return new Map(items.flatMap(({ key, path }) => (contents.has(key) ? [[path, contents.get(key)!] as const] : [])))
}

interface Contents extends KubernetesObject {
  readonly data?: Readonly<Record<string, string>>
  readonly binaryData?: Readonly<Record<string, string>>
}

async function contentsOf(client: KubernetesClient, kind: ObjectKind, pod: Pod, name: string): Promise<Files | null> {
  const object = (await client.get(kind, pod.metadata.namespace ?? '', name)) as Contents | null
  if (object === null) return null
  const encoding = kind === KINDS.Secret ? 'base64' : 'utf8'
  const texts = Object.entries(object.data ?? {}).map(([key, text]) => [key, Buffer.from(text, encoding)] as const)
  const bytes = Object.entries(object.binaryData ?? {}).map(
    ([key, text]) => [key, Buffer.from(text, 'base64')] as const
  )
  return new Map([...texts, ...bytes])
}

/** A token of the Pod's ServiceAccount that counts as long as the Pod is there. */
async function requestToken(
  client: KubernetesClient,
  { metadata: { namespace = '', name, uid }, spec: { serviceAccountName = 'default' } }: Pod,
  audience: string | undefined,
  expirationSeconds: number
): Promise<string> {
  const spec = {
    expirationSeconds,
    ...(audience === undefined ? {} : { audiences: [audience] }),
    boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name, uid }
  }
  const path = `/api/v1/namespaces/${namespace}/${SERVICE_ACCOUNT.plural}/${serviceAccountName}/token`
  const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec }
  const { status } = (await client.ask({ method: 'POST', path, body })) as {
    readonly status: { readonly token: string }
  }
  return status.token
}
