/** CRDs at an API server, until it serves them. */
import { setTimeout as after } from 'node:timers/promises'
import { parseAllDocuments } from 'yaml'
import type { ApiClient, ApiObject } from './client.ts'

const PLURALS: Readonly<Record<string, string>> = {
  CustomResourceDefinition: 'customresourcedefinitions',
  ValidatingAdmissionPolicy: 'validatingadmissionpolicies',
  ValidatingAdmissionPolicyBinding: 'validatingadmissionpolicybindings'
}
const RETRY_MS = 100
const SERVED_MS_MAX = 60_000

interface Condition {
  readonly type: string
  readonly status: string
  readonly message: string
}

/** `texts`: YAML, with several objects each. Throws an Error with what the API server says against one. */
export async function install(client: ApiClient, texts: readonly string[]): Promise<void> {
  const objects = texts.flatMap((text) =>
    parseAllDocuments(text).map((document) => document.toJS() as ApiObject | null)
  )
  for (const object of objects) {
    if (object === null) continue
    const plural = PLURALS[object.kind]
    if (plural === undefined) throw new Error(`a CRD is no ${object.kind}`)
    const { status, body } = await client.create(object, plural)
    if (status !== 201) throw new Error(`${object.metadata.name}: ${status} ${body.message}`)
    if (object.kind === 'CustomResourceDefinition') await isServed(client, object)
  }
}

async function isServed(client: ApiClient, crd: ApiObject): Promise<void> {
  const late = AbortSignal.timeout(SERVED_MS_MAX)
  for (;;) {
    const { body } = await client.get(crd, 'customresourcedefinitions')
    const status = body.status as { readonly conditions?: readonly Condition[] | null } | undefined
    const conditions = status?.conditions ?? []
    // The API server says here what is wrong with the structure of a schema.
    const wrong = conditions.find((one) => one.type === 'NonStructuralSchema' && one.status === 'True')
    if (wrong !== undefined) throw new Error(`${crd.metadata.name}: ${wrong.message}`)
    if (conditions.some((one) => one.type === 'Established' && one.status === 'True')) return
    if (late.aborted) throw new Error(`${crd.metadata.name} is not served: ${JSON.stringify(conditions)}`)
    await after(RETRY_MS)
  }
}
