"""What the files mean: recipe, role manifest, cluster, flag catalogue, and the job linked from them."""
