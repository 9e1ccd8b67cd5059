/** What the translation of routes is told of the cluster. */
export interface RouteOptions {
  /** Of names of Services: "cluster.local". */
  readonly clusterDomain: string
  /** False: all objects have one author. */
  readonly hasTenants?: boolean
}
