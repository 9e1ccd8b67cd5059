/**
 * The GraphQL that the PyPI package `prisma` writes (one operation, strings, numbers, names, lists, objects; neither
 * variables nor fragments), as the JSON that newer clients of the same engine send.
 */
export interface Query {
  readonly modelName?: string
  readonly action: string
  readonly query: { readonly arguments: Tree; readonly selection: Tree }
}

interface Tree {
  [name: string]: unknown
}

const TOKENS = /"(?:[^"\\]|\\.)*"|[{}()[\]:]|[^\s{}()[\]:,"]+/gs
const LITERAL = /^(?:true|false|null|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)$/
const ACTION =
  /^(findUnique|findFirst|findMany|createOne|createMany|updateOne|updateMany|deleteOne|deleteMany|upsertOne|aggregate|groupBy|queryRaw|executeRaw)(.*?)(OrThrow)?$/

/** Throws for what is no such operation. */
export function queryOf(text: string): Query {
  const reader = new Reader(text.match(TOKENS) ?? [])
  // `query { result: NAME`, or `mutation`.
  for (let i = 0; i < 4; i++) reader.next()
  const name = reader.next()
  const found = ACTION.exec(name)
  if (found === null) throw new Error(`no action of the engine: ${name}`)
  const [, action, modelName, orThrow = ''] = found
  const query = { arguments: reader.arguments(), selection: reader.sees('{') ? reader.selection() : {} }
  return { ...(modelName === '' ? {} : { modelName: modelName! }), action: action + orThrow, query }
}

class Reader {
  readonly #tokens: readonly string[]
  #at = 0

  constructor(tokens: readonly string[]) {
    this.#tokens = tokens
  }

  next(): string {
    const token = this.#tokens[this.#at++]
    if (token === undefined) throw new Error('the operation ends too early')
    return token
  }

  sees(token: string): boolean {
    return this.#tokens[this.#at] === token
  }

  arguments(): Tree {
    return this.sees('(') ? this.#pairs(')') : {}
  }

  selection(): Tree {
    const made: Tree = {}
    this.next()
    while (!this.sees('}')) {
      const name = this.next()
      const args = this.arguments()
      const hasArguments = Object.keys(args).length > 0
      if (this.sees('{')) made[name] = { arguments: args, selection: this.selection() }
      else made[name] = hasArguments ? { arguments: args } : true
    }
    this.next()
    return made
  }

  #pairs(end: string): Tree {
    const made: Tree = {}
    this.next()
    while (!this.sees(end)) {
      const name = this.next()
      this.next()
      made[name.startsWith('"') ? (JSON.parse(name) as string) : name] = this.#value()
    }
    this.next()
    return made
  }

  #value(): unknown {
    if (this.sees('{')) return this.#pairs('}')
    const token = this.next()
    if (token !== '[') return token.startsWith('"') || LITERAL.test(token) ? (JSON.parse(token) as unknown) : token
    const made: unknown[] = []
    while (!this.sees(']')) made.push(this.#value())
    this.next()
    return made
  }
}
