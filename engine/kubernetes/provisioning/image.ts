/** Names of images: REGISTRY/REPOSITORY:TAG@DIGEST. */
import type { ImageFields } from './parameters.ts'

/** `image`: the default. Fields of GatewayParameters replace its parts. */
export function imageName(image: string, fields: ImageFields): string {
  const known = partsOf(image)
  const { registry = known.registry, repository = known.repository } = fields
  const { tag, digest } = fields.tag === undefined && fields.digest === undefined ? known : fields
  const version = digest === undefined ? (tag === undefined ? '' : `:${tag}`) : `@${digest}`
  return `${registry === undefined ? '' : `${registry}/`}${repository}${version}`
}

interface Parts {
  readonly registry: string | undefined
  readonly repository: string
  readonly tag: string | undefined
  readonly digest: string | undefined
}

function partsOf(image: string): Parts {
  const [named = '', digest] = image.split('@')
  const slash = named.indexOf('/')
  const first = named.slice(0, Math.max(slash, 0))
  // As container runtimes tell a registry from a part of the repository.
  const isRegistry = first.includes('.') || first.includes(':') || first === 'localhost'
  const rest = isRegistry ? named.slice(slash + 1) : named
  const colon = rest.lastIndexOf(':')
  const hasTag = colon > rest.lastIndexOf('/')
  return {
    registry: isRegistry ? first : undefined,
    repository: hasTag ? rest.slice(0, colon) : rest,
    tag: hasTag ? rest.slice(colon + 1) : undefined,
    digest
  }
}
