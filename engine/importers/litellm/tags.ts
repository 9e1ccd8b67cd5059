/**
 * Choice by tags (enable_tag_filtering): a request with a tag, in x-litellm-tags or by its key, gets the deployment
 * that has it. Source: "Tag Based Routing" of LiteLLM's docs.
 */
import type { Draft } from '#engine/importers/draft.ts'
import type { Raw } from '#engine/schema/placed.ts'
import type { Deployment } from './deployments.ts'

/** The tag of deployments for requests without one. */
const USUAL = 'default'
const OF_THE_REQUEST = 'default(request.headers["x-litellm-tags"], "").split(",").exists(tag, tag.trim() in TAGS)'
const OF_THE_KEY = 'default(apiKey.tags, []).exists(tag, tag in TAGS)'

/** Of `conditional`; null: no deployment has a tag. `names`: of the models, in the same order. */
export function taggedRouting(deployments: readonly Deployment[], names: readonly string[], draft: Draft): Raw | null {
  const isTagged = ({ tags }: Deployment): boolean => tags.some((tag) => tag !== USUAL)
  if (!deployments.some(isTagged)) return null
  const [{ file, path, group }] = deployments as [Deployment]
  draft.note(file, path, `"${group}": tags in the body of a request are not read, and one without a deployment is none`)
  const seen = new Set<string>()
  const targets = deployments.flatMap((deployment, i) => {
    const tags = deployment.tags.filter((tag) => tag !== USUAL && !seen.has(tag))
    for (const tag of tags) seen.add(tag)
    if (tags.length === 0) return []
    const list = JSON.stringify(tags)
    const when = `${OF_THE_REQUEST.replace('TAGS', () => list)} || ${OF_THE_KEY.replace('TAGS', () => list)}`
    return [{ when, model: names[i]! }]
  })
  const usual = deployments.findIndex(({ tags }) => tags.includes(USUAL) || tags.length === 0)
  return { conditional: { targets: [...targets, { model: names[Math.max(0, usual)]! }] } }
}
