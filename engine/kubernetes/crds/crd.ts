/** A resource -> its CustomResourceDefinition (apiextensions.k8s.io/v1). */

import type { Resource } from '#engine/kubernetes/resources/index.ts'
import { GROUP, VERSION } from '#engine/kubernetes/resources/names.ts'
import { structural } from './structural.ts'

export function crdOf(resource: Resource) {
  const { kind, plural, shortNames, description, spec, status, columns } = resource
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${GROUP}` },
    spec: {
      group: GROUP,
      names: { kind, listKind: `${kind}List`, plural, singular: kind.toLowerCase(), shortNames, categories: ['weir'] },
      scope: 'Namespaced',
      versions: [
        {
          name: VERSION,
          served: true,
          storage: true,
          subresources: { status: {} },
          additionalPrinterColumns: columns,
          schema: {
            openAPIV3Schema: {
              type: 'object',
              description,
              required: ['spec'],
              properties: {
                apiVersion: { type: 'string' },
                kind: { type: 'string' },
                metadata: { type: 'object' },
                spec: structural(spec, [kind, 'spec']),
                status: structural(status, [kind, 'status'])
              }
            }
          }
        }
      ]
    }
  }
}
