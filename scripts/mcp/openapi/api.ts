/** What an API says of the requests that it takes, read from its document by another way than the gateway's. */

import type { JsonObject, JsonValue } from '#backends/mcp/protocol/json-rpc.ts'
export interface Seen {
  readonly method: string
  readonly url: string
  readonly type: string | null
  readonly body: Buffer
}

type Node = Readonly<Record<string, JsonValue>>

interface Known {
  readonly method: string
  readonly path: RegExp
  readonly literal: number
  /** Null: it takes none. */
  readonly types: readonly string[] | null
}

const METHODS = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch']

export class Api {
  readonly #root: Node
  readonly #known: readonly Known[]

  constructor(root: JsonObject) {
    this.#root = root as Node
    const prefix = this.#prefix()
    const paths = Object.entries((this.#root.paths ?? {}) as JsonObject)
    const known = paths.flatMap(([path, item]) =>
      METHODS.flatMap((method): Known[] => {
        const operation = (item as Node)[method] as Node | undefined
        if (operation === undefined) return []
        const parts = (prefix + path).split(/\{[^{}]*\}/)
        const source = parts.map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('[^/]+')
        const literal = parts.join('').length
        return [
          {
            method: method.toUpperCase(),
            path: new RegExp(`^${source}$`),
            literal,
            types: this.#types(operation, item as Node)
          }
        ]
      })
    )
    // Of several templates the one with more literal text is meant (OpenAPI 3.1.1 section 4.8.8.1).
    this.#known = known.sort((a, b) => b.literal - a.literal)
  }

  get operations(): number {
    return this.#known.length
  }

  /** Why the request is none of the document's; null: it is. */
  problem({ method, url, type, body }: Seen): string | null {
    const path = url.split('?', 1)[0]!
    const found = this.#known.filter((one) => one.method === method && one.path.test(path))
    if (found.length === 0) return `${method} ${path}: there is no such operation`
    const essence = type?.split(';', 1)[0] ?? null
    if (essence === null) return null
    if (!found.some(({ types }) => types?.some((known) => known === essence || known === '*/*'))) {
      return `${method} ${path}: ${essence} is not taken, but ${found[0]!.types?.join() ?? 'nothing'}`
    }
    return wrongBody(essence, type!, body)
  }

  #prefix(): string {
    const { servers, basePath } = this.#root
    if (typeof basePath === 'string') return basePath.replace(/\/$/, '')
    const url = Array.isArray(servers) ? (servers as Node[])[0]?.url : undefined
    return typeof url === 'string' ? new URL(url, 'http://a/').pathname.replace(/\/$/, '') : ''
  }

  #types(operation: Node, item: Node): string[] | null {
    const body = this.#follow(operation.requestBody)
    if (body !== null) return Object.keys(body.content as JsonObject)
    const parameters = [operation.parameters, item.parameters].flatMap((list) => (Array.isArray(list) ? list : []))
    const places = parameters.map((one) => this.#follow(one as JsonValue)?.in)
    if (!places.some((place) => place === 'body' || place === 'formData')) return null
    const { consumes = this.#root.consumes ?? ['application/json'] } = operation
    return consumes as string[]
  }

  #follow(value: JsonValue | undefined): Node | null {
    let at = value as Node | undefined
    while (typeof at?.$ref === 'string') {
      const steps = at.$ref.slice(2).split('/')
      at = steps.reduce<Node>((node, step) => node[step.replaceAll('~1', '/')] as Node, this.#root)
    }
    return at ?? null
  }
}

function wrongBody(essence: string, type: string, body: Buffer): string | null {
  const text = body.toString()
  if (/json$/.test(essence)) {
    const value = JSON.parse(text) as unknown
    const isList = essence === 'application/json-patch+json'
    return isList && !Array.isArray(value) ? 'a JSON Patch is a list' : null
  }
  if (essence === 'application/x-www-form-urlencoded') {
    return /^[^\s]*$/.test(text) ? null : 'a form has no blanks'
  }
  if (essence !== 'multipart/form-data') return null
  const [, boundary = ''] = /boundary=(\S+)/.exec(type) ?? []
  return boundary !== '' && text.endsWith(`--${boundary}--\r\n`) ? null : 'a form of several parts has no end'
}
